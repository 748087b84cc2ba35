import type { components } from "./schema.gen";

type Schemas = components["schemas"];

export type Capture = Schemas["Capture"];
export type CaptureInterface = Schemas["CaptureInterface"];
export type CaptureStatus = Schemas["CaptureStatus"];
export type Divergence = Schemas["Divergence"];
export type FieldNode = Schemas["FieldNode"];
export type Flow = Schemas["Flow"];
export type PacketDetail = Schemas["PacketDetail"];
export type PacketList = Schemas["PacketList"];
export type PacketSummary = Schemas["PacketSummary"];
export type Path = Schemas["Path"];
export type PathSeries = Schemas["PathSeries"];
export type Pause = Schemas["Pause"];
export type Problem = Schemas["Problem"];
export type Progress = Schemas["Progress"];
export type QueryExample = Schemas["QueryExample"];
export type QueryResult = Schemas["QueryResult"];
export type Rule = Schemas["Rule"];
export type Service = Schemas["Service"];
export type Stream = Schemas["Stream"];
export type Table = Schemas["Table"];
export type Throughput = Schemas["Throughput"];
export type Totals = Schemas["Totals"];
