import { Tooltip } from "@mantine/core";
import { UNKNOWN } from "../lib/format";
import classes from "./Unknown.module.css";

/** A figure that the capture cannot tell: a dash with its reason, never a zero. */
export function Unknown({ why }: { why: string }) {
  return (
    <Tooltip label={`Unknown: ${why}`}>
      <span className={classes.unknown} aria-label={`unknown: ${why}`} role="img">
        {UNKNOWN}
      </span>
    </Tooltip>
  );
}
