import type { Path, Stream } from "../../api/types";
import { EmptyState } from "../../components/EmptyState";
import { PATH_SORTS, STREAM_SORTS, type PathSort, type StreamSort } from "../../lib/viewState";
import type { Listing } from "./ListView";
import { HIDDEN_PATH_COLUMNS } from "./pathColumns";
import { HIDDEN_STREAM_COLUMNS } from "./streamColumns";

export const PATHS: Listing<Path, PathSort> = {
  title: "Paths",
  noun: "path",
  filterHint: "Path, plane1, port50001, or trouble",
  filterTitle:
    "Words that must all match: the number of a path (3), of a plane (plane1) or of a source port (port50001), an address or its beginning, or a finding: retransmitted, missing, lost, duplicate, ce, nak, probe, failed, recovered, re-pathed",
  sorts: PATH_SORTS,
  usualSort: "path_id",
  ascendingFirst: new Set(["path_id", "plane_id", "source", "destination", "first_time"]),
  hidden: HIDDEN_PATH_COLUMNS,
  empty: (
    <EmptyState title="No paths">
      <p>No packet with a path sequence number, and no ACK of one, was captured here.</p>
    </EmptyState>
  ),
  key: ({ flow_id, path_id }) => `${flow_id}/${path_id}`,
};

export const STREAMS: Listing<Stream, StreamSort> = {
  title: "Streams",
  noun: "stream",
  filterHint: "Stream, operation or trouble",
  filterTitle:
    "Words that must all match: the number of a stream, an address or its beginning, an operation (write, send, read, atomic) or a finding: retransmitted, nak, incomplete",
  sorts: STREAM_SORTS,
  usualSort: "stream_id",
  ascendingFirst: new Set(["stream_id", "source", "destination", "first_time"]),
  hidden: HIDDEN_STREAM_COLUMNS,
  empty: (
    <EmptyState title="No streams">
      <p>No packet that carries or asks for data was captured here.</p>
    </EmptyState>
  ),
  key: ({ flow_id, stream_id }) => `${flow_id}/${stream_id}`,
};
