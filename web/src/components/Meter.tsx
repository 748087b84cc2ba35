import classes from "./Meter.module.css";

interface Props {
  label: string;
  /** 0 to 1; undefined where it cannot be told. */
  share: number | undefined;
  tone?: "muted";
}

/** Thin progress bar. */
export function Meter({ label, share, tone }: Props) {
  const percent = share === undefined ? undefined : Math.max(0, Math.min(100, share * 100));
  return (
    <div
      className={classes.track}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent === undefined ? undefined : Math.floor(percent)}
      data-tone={tone}
    >
      <div
        className={classes.fill}
        data-unknown={percent === undefined || undefined}
        style={{ transform: `scaleX(${(percent ?? 30) / 100})` }}
      />
    </div>
  );
}
