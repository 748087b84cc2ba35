import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { throughputQuery } from "../../api/queries";
import type { Capture } from "../../api/types";
import { NoTimes, ThroughputChart } from "../../charts/ThroughputChart";
import { QueryError } from "../../components/QueryError";

interface Props {
  capture: Capture;
  flowId?: string;
  from: string | undefined;
  to: string | undefined;
  onSpan: (from: string | undefined, to: string | undefined) => void;
  height?: number;
}

/** Height that the chart's legend and frame add. */
const FRAME_HEIGHT = 38;

export function Throughput({ capture, flowId, from, to, onSpan, height = 160 }: Props) {
  const timeless = capture.first_packet_at === undefined;
  const { data, error, isFetching, refetch } = useQuery({
    ...throughputQuery(capture.id, { flowId, from, to }),
    enabled: !timeless,
  });
  // Known beforehand, so no room is kept for a chart that will not come.
  if (timeless) return <NoTimes packets={capture.totals?.packets ?? 0} />;
  if (error) return <QueryError error={error} what="The throughput" onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={height + FRAME_HEIGHT} style={{ flex: "none" }} />;
  return (
    <ThroughputChart
      throughput={data}
      origin={capture.first_packet_at}
      zoomed={from !== undefined || to !== undefined}
      onZoom={onSpan}
      onReset={() => onSpan(undefined, undefined)}
      height={height}
      busy={isFetching}
    />
  );
}
