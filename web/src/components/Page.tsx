import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import classes from "./Page.module.css";

export interface Crumb {
  label: string;
  captureId?: string;
  agentId?: string;
  /** Another page than that of all captures. */
  to?: "/agents";
}

interface Props {
  /** Of the browser's tab. */
  documentTitle: string;
  title: ReactNode;
  crumbs?: readonly Crumb[];
  aside?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** Title, way back, actions; the content fills what is left of the window. */
export function Page({ documentTitle, title, crumbs, aside, actions, children }: Props) {
  return (
    <div className={classes.page}>
      <title>{`${documentTitle} · rocelens`}</title>
      <div className={classes.head}>
        <div className={classes.heading}>
          {crumbs && (
            <nav aria-label="Breadcrumb" className={classes.crumbs}>
              {crumbs.map((crumb) => (
                <span key={crumb.label}>
                  {crumb.captureId ? (
                    <Link to="/captures/$captureId" params={{ captureId: crumb.captureId }}>
                      {crumb.label}
                    </Link>
                  ) : crumb.agentId ? (
                    <Link to="/agents/$agentId" params={{ agentId: crumb.agentId }}>
                      {crumb.label}
                    </Link>
                  ) : (
                    <Link to={crumb.to ?? "/"}>{crumb.label}</Link>
                  )}
                  <span aria-hidden> / </span>
                </span>
              ))}
            </nav>
          )}
          <h1 className={classes.title} title={typeof title === "string" ? title : undefined}>
            {title}
          </h1>
          {aside}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}
