import { Menu, ActionIcon, Tooltip } from "@mantine/core";
import { IconDots, IconDownload, IconPlayerStop, IconRefresh, IconTrash } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { API_BASE } from "../../api/client";
import { isRunning } from "../../api/queries";
import type { Capture } from "../../api/types";
import type { Column } from "../../components/DataTable";
import { StatusBadge } from "../../components/StatusBadge";
import { Unknown } from "../../components/Unknown";
import { formatCount, formatFileSize } from "../../lib/format";
import { formatAgo, formatDateTime } from "../../lib/time";
import { troublesOf } from "../../lib/troubles";
import { AnalysisProgress } from "./AnalysisProgress";
import classes from "./captureColumns.module.css";
import { useAnalyzeAgain, useCancelAnalysis, useLiveCapture } from "./hooks";

function Actions({ capture, onDelete }: { capture: Capture; onDelete: (capture: Capture) => void }) {
  const live = useLiveCapture(capture);
  const cancel = useCancelAnalysis();
  const again = useAnalyzeAgain();
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={`Actions for ${capture.name}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isRunning(live) ? (
          <Menu.Item leftSection={<IconPlayerStop size={15} />} onClick={() => cancel.mutate(capture.id)}>
            Stop the analysis
          </Menu.Item>
        ) : (
          <Menu.Item leftSection={<IconRefresh size={15} />} onClick={() => again.mutate(capture.id)}>
            Analyse again
          </Menu.Item>
        )}
        <Menu.Item component="a" href={`${API_BASE}/captures/${capture.id}/file`} leftSection={<IconDownload size={15} />}>
          Download the file
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item color="red" leftSection={<IconTrash size={15} />} onClick={() => onDelete(capture)}>
          Delete …
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Status({ capture }: { capture: Capture }) {
  const live = useLiveCapture(capture);
  return <StatusBadge status={live.status} />;
}

function Findings({ capture }: { capture: Capture }) {
  const live = useLiveCapture(capture);
  if (isRunning(live)) return <AnalysisProgress capture={live} />;
  if (!live.totals) return <span className={classes.message} title={live.message}>{live.message}</span>;
  const troubles = troublesOf(live.totals);
  if (troubles.length === 0) {
    return <span className={classes.message} title={live.message}>{live.message ?? "No trouble seen"}</span>;
  }
  return (
    <span className={classes.troubles}>
      {troubles.map(({ trouble, count }) => (
        <Link
          key={trouble.key}
          to="/captures/$captureId/packets"
          params={{ captureId: capture.id }}
          search={{ only: trouble.only }}
          className={classes.trouble}
          data-severity={trouble.severity}
        >
          <strong>{formatCount(count)}</strong> {trouble.short}
        </Link>
      ))}
    </span>
  );
}

/** A figure of the totals, or why there is none. */
function Figure({ capture, of }: { capture: Capture; of: "packets" | "rdma_packets" | "flows" }) {
  const live = useLiveCapture(capture);
  const totals = live.totals;
  if (totals) return formatCount(totals[of]);
  if (isRunning(live)) return <Unknown why="the analysis has not ended yet" />;
  return <Unknown why="the capture has not been analysed" />;
}

export function captureColumns(onDelete: (capture: Capture) => void, narrow: boolean): Column<Capture>[] {
  return [
    {
      id: "name",
      header: "Name",
      width: narrow ? 150 : 220,
      grow: 3,
      cell: (capture) => (
        <Link to="/captures/$captureId" params={{ captureId: capture.id }} className={classes.name} title={capture.name}>
          {capture.name}
        </Link>
      ),
    },
    { id: "status", header: "Status", width: 108, cell: (capture) => <Status capture={capture} /> },
    { id: "size", header: "Size", width: 92, align: "right", cell: (capture) => formatFileSize(capture.size) },
    { id: "packets", header: "Packets", width: 100, align: "right", cell: (capture) => <Figure capture={capture} of="packets" /> },
    { id: "rdma", header: "RDMA", title: "RDMA packets", width: 100, align: "right", cell: (capture) => <Figure capture={capture} of="rdma_packets" /> },
    { id: "flows", header: "Flows", width: 84, align: "right", cell: (capture) => <Figure capture={capture} of="flows" /> },
    { id: "findings", header: "Troubles", width: 300, grow: 4, cell: (capture) => <Findings capture={capture} /> },
    {
      id: "uploaded",
      header: "Uploaded",
      width: 138,
      align: "right",
      cell: (capture) => (
        <Tooltip label={`${formatDateTime(capture.uploaded_at)} UTC`}>
          <span className="muted">{formatAgo(capture.uploaded_at, Date.now())}</span>
        </Tooltip>
      ),
    },
    { id: "actions", header: "", title: "Actions", width: 48, align: "center", cell: (capture) => <Actions capture={capture} onDelete={onDelete} /> },
  ];
}
