import { flag, integer, oneOf, pattern, text, type Schema } from "./urlState";

/** What each page keeps in its address. The names are a promise: links are sent to colleagues and kept in tickets. */

export const FLOW_SORTS = [
  "bytes",
  "packets",
  "messages",
  "throughput",
  "first_time",
  "last_time",
  "duration",
  "retransmitted",
  "out_of_order",
  "missing_psns",
  "acks",
  "naks",
  "rnr_naks",
  "cnps",
  "ce_marked",
  "icrc_bad",
  "source",
  "destination",
  "destination_qp",
] as const;
export type FlowSort = (typeof FLOW_SORTS)[number];

export const PATH_SORTS = [
  "path_id",
  "plane_id",
  "state",
  "re_paths",
  "packets",
  "bytes",
  "throughput",
  "retransmitted",
  "resent_share",
  "missing_psns",
  "lost",
  "out_of_order",
  "duplicates",
  "ce_marked",
  "ce_share",
  "naks",
  "rtt",
  "rtt_max",
  "in_flight_max",
  "rate_hint",
  "first_time",
  "last_time",
  "source",
  "destination",
] as const;
export type PathSort = (typeof PATH_SORTS)[number];

export const STREAM_SORTS = [
  "stream_id",
  "messages",
  "complete",
  "packets",
  "payload_bytes",
  "goodput_bytes",
  "retransmitted",
  "naks",
  "latency_min",
  "latency_mean",
  "latency_p50",
  "latency_p90",
  "latency_p99",
  "latency_max",
  "first_time",
  "last_time",
  "source",
  "destination",
] as const;
export type StreamSort = (typeof STREAM_SORTS)[number];

export const FINDINGS = [
  "retransmitted",
  "out_of_order",
  "gap",
  "nak",
  "rnr",
  "cnp",
  "ce",
  "icrc_bad",
  "malformed",
  "truncated",
  "unsupported",
  "pause",
  "not_rdma",
] as const;
export type Finding = (typeof FINDINGS)[number];

export const CLOCKS = ["relative", "absolute", "delta"] as const;
export type Clock = (typeof CLOCKS)[number];

const moment = pattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/);

export interface CapturesState {
  filter?: string | undefined;
}
export const capturesSchema: Schema<CapturesState> = { filter: text(200) };

export interface CaptureState {
  sort?: FlowSort | undefined;
  order?: "asc" | undefined;
  filter?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  /** Flow that is marked in the table. */
  flow?: string | undefined;
  /** Columns that differ from the usual ones: +name shown, -name hidden, parted by commas. */
  columns?: string | undefined;
}
export const captureSchema: Schema<CaptureState> = {
  sort: oneOf(FLOW_SORTS),
  order: oneOf(["asc"]),
  filter: text(200),
  from: moment,
  to: moment,
  flow: pattern(/^\d{1,20}$/),
  columns: pattern(/^[+-][a-z_]+(,[+-][a-z_]+)*$/),
};

export interface PacketsState {
  only?: Finding | undefined;
  /** Only the direction of the flow itself. */
  one_way?: true | undefined;
  clock?: Exclude<Clock, "relative"> | undefined;
  /** Number of the packet that is open. */
  packet?: number | undefined;
  /** Path of the field that is selected, indexes from the root of the tree: 2.1.4. */
  field?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}
export const packetsSchema: Schema<PacketsState> = {
  only: oneOf(FINDINGS),
  one_way: flag,
  clock: oneOf(["absolute", "delta"]),
  packet: integer(1),
  field: pattern(/^\d{1,4}(\.\d{1,4}){0,15}$/),
  from: moment,
  to: moment,
};

const columnsField = pattern(/^[+-][a-z0-9_]+(,[+-][a-z0-9_]+)*$/);

export interface ListState<S extends string> {
  sort?: S | undefined;
  order?: "desc" | undefined;
  filter?: string | undefined;
  /** Columns that differ from the usual ones, as in CaptureState. */
  columns?: string | undefined;
}

export interface PathsState extends ListState<PathSort> {
  /** Path that is open. */
  path?: number | undefined;
}
export const pathsSchema: Schema<PathsState> = {
  sort: oneOf(PATH_SORTS),
  order: oneOf(["desc"]),
  filter: text(200),
  columns: columnsField,
  path: integer(0),
};

export interface StreamsState extends ListState<StreamSort> {
  /** Stream that is marked. */
  stream?: number | undefined;
}
export const streamsSchema: Schema<StreamsState> = {
  sort: oneOf(STREAM_SORTS),
  order: oneOf(["desc"]),
  filter: text(200),
  columns: columnsField,
  stream: integer(0),
};

export const VERDICTS = ["diverges", "undetermined"] as const;
export type FoundVerdict = (typeof VERDICTS)[number];

export interface ReplayState {
  /** Rule of which the places are listed. */
  rule?: string | undefined;
  /** Only places of this verdict. */
  verdict?: FoundVerdict | undefined;
}
export const replaySchema: Schema<ReplayState> = {
  rule: pattern(/^[a-z]+\.[a-z0-9-]{1,80}$/),
  verdict: oneOf(VERDICTS),
};

export interface DivergenceState {
  /** Packets of the connection that are shown before and after each that proves it. */
  around?: number | undefined;
}
export const divergenceSchema: Schema<DivergenceState> = {
  around: { read: (raw) => (/^\d{1,3}$/.test(raw) && Number(raw) <= 200 ? Number(raw) : undefined), write: String },
};

export interface SequenceState {
  /** Span of time that is shown. */
  from?: string | undefined;
  to?: string | undefined;
  /** Path of MetaRoCE that is shown alone. */
  path?: number | undefined;
  /** What is not drawn, parted by commas. */
  hide?: string | undefined;
}
export const sequenceSchema: Schema<SequenceState> = {
  from: moment,
  to: moment,
  path: { read: (raw) => (/^\d{1,3}$/.test(raw) && Number(raw) <= 255 ? Number(raw) : undefined), write: String },
  hide: pattern(/^[a-z]+(,[a-z]+)*$/),
};

const uuid = pattern(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const flowId = pattern(/^\d{1,20}$/);

export interface SecondState {
  /** Flow whose connection is looked for in other captures. */
  flow?: string | undefined;
  filter?: string | undefined;
}
export const secondSchema: Schema<SecondState> = { flow: flowId, filter: text(200) };

export const MERGE_VIEWS = ["packets", "rules"] as const;
export const FATES = ["lost", "missed", "undetermined"] as const;

export interface MergeState {
  /** What is listed; directions when not given. */
  view?: (typeof MERGE_VIEWS)[number] | undefined;
  /** Only directions and packets of this flow. */
  flow?: string | undefined;
  /** Only packets with this fate. */
  fate?: (typeof FATES)[number] | undefined;
  /** Only packets of the first (0) or the second (1) capture. */
  capture?: "0" | "1" | undefined;
  /** Rule of which the places are listed. */
  rule?: string | undefined;
}
export const mergeSchema: Schema<MergeState> = {
  view: oneOf(MERGE_VIEWS),
  flow: flowId,
  fate: oneOf(FATES),
  capture: oneOf(["0", "1"]),
  rule: replaySchema.rule,
};

export interface DiffState {
  /** Captures of the two sides, and flows whose connections alone are compared. */
  a?: string | undefined;
  b?: string | undefined;
  flow_a?: string | undefined;
  flow_b?: string | undefined;
}
export const diffSchema: Schema<DiffState> = { a: uuid, b: uuid, flow_a: flowId, flow_b: flowId };

/** Spans of time that end now, by their length. */
export const SPANS = ["10m", "1h", "6h", "24h", "7d"] as const;
export type SpanLength = (typeof SPANS)[number];

/** What pages about agents are about; ten minutes that end now when no time is given. */
export interface ScopeState {
  agent?: string | undefined;
  interface?: string | undefined;
  last?: SpanLength | undefined;
  from?: string | undefined;
  to?: string | undefined;
}
const interfaceName = text(64);
export const scopeSchema: Schema<ScopeState> = { agent: uuid, interface: interfaceName, last: oneOf(SPANS), from: moment, to: moment };

export const AGENT_FLOW_SORTS = [
  "bytes",
  "packets",
  "messages",
  "retransmitted",
  "out_of_order",
  "missing_psns",
  "naks",
  "rnr_naks",
  "cnps",
  "ce_marked",
  "source",
  "destination",
  "destination_qp",
  "interface",
  "service",
] as const;
export type AgentFlowSort = (typeof AGENT_FLOW_SORTS)[number];

export interface AgentFlowsState extends ScopeState {
  sort?: AgentFlowSort | undefined;
  order?: "asc" | undefined;
  filter?: string | undefined;
  /** Flow whose rates are shown: agent, interface and id. */
  flow?: string | undefined;
}
export const agentFlowsSchema: Schema<AgentFlowsState> = {
  ...scopeSchema,
  sort: oneOf(AGENT_FLOW_SORTS),
  order: oneOf(["asc"]),
  filter: text(200),
  flow: pattern(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/[^/]{1,64}\/\d{1,20}$/),
};

export interface AgentRulesState extends ScopeState, ReplayState {}
export const agentRulesSchema: Schema<AgentRulesState> = { ...scopeSchema, ...replaySchema };

export type AgentCountersState = Omit<ScopeState, "agent">;
export const agentCountersSchema: Schema<AgentCountersState> = { interface: interfaceName, last: oneOf(SPANS), from: moment, to: moment };

export interface QueryState {
  sql?: string | undefined;
}
export const querySchema: Schema<QueryState> = { sql: text(100_000) };
