import { useLocalStorage } from "@mantine/hooks";
import { useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import classes from "./Split.module.css";

interface Props {
  /** Under which the size is remembered. */
  name: string;
  direction: "column" | "row";
  /** Share of the first pane, percent. */
  initial: number;
  label: string;
  first: ReactNode;
  second: ReactNode;
}

const LEAST = 12;
const STEP = 3;

function clamp(percent: number): number {
  return Math.round(Math.min(100 - LEAST, Math.max(LEAST, percent)) * 10) / 10;
}

/** Two panes with a border that can be dragged, or moved with the arrow keys. */
export function Split({ name, direction, initial, label, first, second }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const [share, setShare] = useLocalStorage({ key: `rocelens-split-${name}`, defaultValue: initial, getInitialValueInEffect: false });
  const percent = clamp(Number(share) || initial);
  const template = `minmax(0, ${percent}fr) 9px minmax(0, ${100 - percent}fr)`;

  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const box = root.current?.getBoundingClientRect();
    if (!box || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const part = direction === "column" ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
    setShare(clamp(part * 100));
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const [less, more] = direction === "column" ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    if (event.key === less) setShare(clamp(percent - STEP));
    else if (event.key === more) setShare(clamp(percent + STEP));
    else if (event.key === "Home") setShare(LEAST);
    else if (event.key === "End") setShare(100 - LEAST);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={root}
      className={classes.root}
      style={direction === "column" ? { gridTemplateRows: template } : { gridTemplateColumns: template }}
    >
      <div className={classes.pane}>{first}</div>
      <div
        role="separator"
        tabIndex={0}
        aria-label={label}
        aria-orientation={direction === "column" ? "horizontal" : "vertical"}
        aria-valuenow={Math.round(percent)}
        aria-valuemin={LEAST}
        aria-valuemax={100 - LEAST}
        className={classes.handle}
        data-direction={direction}
        onPointerDown={(event) => {
          event.preventDefault();
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={onPointerMove}
        onKeyDown={onKeyDown}
        onDoubleClick={() => setShare(initial)}
      />
      <div className={classes.pane}>{second}</div>
    </div>
  );
}
