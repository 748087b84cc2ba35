import { ActionIcon, Loader, Tooltip } from "@mantine/core";
import { IconLayoutBottombar, IconLayoutSidebarRight, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { packetQuery } from "../../api/queries";
import { QueryError } from "../../components/QueryError";
import { useNarrow } from "../../components/useNarrow";
import { Split } from "../../components/Split";
import { decodeBase64, describeRange, nodeAt, rangeOf, selectAt } from "../../lib/fieldTree";
import { formatCount } from "../../lib/format";
import { metaroceFields } from "../../lib/metaroceFields.gen";
import { ProfileNote } from "../metaroce/ProfileNote";
import { FieldTree } from "./FieldTree";
import { HexDump } from "./HexDump";
import { PacketFlags } from "./packetFlags";
import classes from "./PacketDetail.module.css";

interface Props {
  captureId: string;
  number: number;
  field: string | undefined;
  onField: (field: string | undefined) => void;
  onClose: () => void;
  beside: boolean;
  onBeside: (beside: boolean) => void;
}

/** One packet: its fields and its bytes, each pointing at the other. */
export function PacketDetail({ captureId, number, field, onField, onClose, beside, onBeside }: Props) {
  const narrow = useNarrow();
  const stacked = beside || narrow;
  const { data, error, isPlaceholderData, refetch } = useQuery(packetQuery(captureId, number));
  const bytes = useMemo(() => (data ? decodeBase64(data.bytes) : new Uint8Array()), [data]);
  const node = data && field !== undefined ? nodeAt(data.tree, field) : undefined;
  const meaning = node?.field === undefined ? undefined : metaroceFields[node.field];
  const range = useMemo(() => node && rangeOf(node), [node]);
  if (error) return <QueryError error={error} what={`Packet ${formatCount(number)}`} onRetry={() => void refetch()} />;
  if (!data) {
    return (
      <div className={classes.wait}>
        <Loader size="sm" aria-label="Loading the packet" />
      </div>
    );
  }
  const { captured_length: captured, original_length: original } = data.summary;
  return (
    <section className={classes.root} aria-label={`Packet ${data.summary.number}`} aria-busy={isPlaceholderData}>
      <div className={classes.bar}>
        <strong>Packet {formatCount(data.summary.number)}</strong>
        <span className="muted">
          {captured < original ? `${formatCount(captured)} of ${formatCount(original)} bytes captured` : `${formatCount(original)} bytes`}
        </span>
        <span>
          <PacketFlags packet={data.summary} />
        </span>
        {data.summary.metaroce && <ProfileNote profile="mr0" />}
        <span className={classes.where} role="status" title={meaning}>
          {node && (
            <>
              {node.field && <code>{node.field}</code>} {describeRange(node, bytes)}
              {meaning && `, ${meaning}`}
            </>
          )}
        </span>
        {!narrow && (
          <Tooltip label={beside ? "Put below the list" : "Put beside the list"}>
            <ActionIcon size="sm" aria-label={beside ? "Put below the list" : "Put beside the list"} onClick={() => onBeside(!beside)}>
              {beside ? <IconLayoutBottombar size={16} /> : <IconLayoutSidebarRight size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
        <Tooltip label="Close (Esc)">
          <ActionIcon size="sm" aria-label="Close the packet" onClick={onClose}>
            <IconX size={16} />
          </ActionIcon>
        </Tooltip>
      </div>
      <Split
        name={stacked ? "fields-beside" : "fields"}
        direction={stacked ? "column" : "row"}
        initial={stacked ? 60 : 52}
        label="Size of the fields and the bytes"
        first={
          <div className={classes.pane}>
            <FieldTree tree={data.tree} selected={field} onSelect={onField} />
          </div>
        }
        second={
          <div className={classes.pane}>
            <HexDump perRow={narrow ? 8 : 16} bytes={bytes} range={range} onSelectByte={(offset) => onField(selectAt(data.tree, offset, field))} />
          </div>
        }
      />
    </section>
  );
}
