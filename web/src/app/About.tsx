import { ActionIcon, Popover } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { serviceQuery } from "../api/queries";
import { formatFileSize } from "../lib/format";
import classes from "./About.module.css";

/** What serves this page: versions, room on its disk, and where its API is described. */
export function About() {
  const { data } = useQuery(serviceQuery);
  const version = data && (/^\d+\./.test(data.version) ? `v${data.version}` : data.version);
  const facts: [string, string][] = data
    ? [
        ["Version", version ?? ""],
        ["Database", `ClickHouse ${data.clickhouse_version}${data.embedded ? ", embedded" : ""}`],
        ["Free on its disk", formatFileSize(data.disk_free_bytes)],
        ...(data.max_upload_bytes ? [["Largest file", formatFileSize(data.max_upload_bytes)] satisfies [string, string]] : []),
        ["SQL", data.query_enabled ? "on, read-only" : `off: ${data.query_disabled_reason ?? "switched off"}`],
      ]
    : [];
  return (
    <Popover position="bottom-end" shadow="md" width={330} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon aria-label={version ? `About, version ${version}` : "About"} w="auto" px={5} className={classes.target}>
          {version && <span className={classes.version}>{version}</span>}
          <IconInfoCircle size={18} stroke={1.6} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label="About">
        <h2 className={classes.title}>rocelens</h2>
        {data ? (
          <dl className={classes.facts}>
            {facts.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        ) : (
          <p className="muted">The service does not answer.</p>
        )}
        <p className={classes.links}>
          <a href="/api/docs">API</a>
          <a href="/metrics">Metrics</a>
        </p>
      </Popover.Dropdown>
    </Popover>
  );
}
