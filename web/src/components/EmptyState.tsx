import type { ReactNode } from "react";
import classes from "./EmptyState.module.css";

interface Props {
  title: string;
  tone?: "bad";
  icon?: ReactNode;
  children?: ReactNode;
}

/** Says why there is nothing, and what to do. */
export function EmptyState({ title, tone, icon, children }: Props) {
  return (
    <div className={classes.root} role={tone === "bad" ? "alert" : undefined}>
      {icon}
      {title && (
        <h2 className={classes.title} data-tone={tone}>
          {title}
        </h2>
      )}
      {children}
    </div>
  );
}
