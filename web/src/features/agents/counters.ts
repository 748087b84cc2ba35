import type { PortCounter } from "../../api/types";

/** Counters of one interface, by what there is to say of them. */
export interface Grouped {
  /** Those that counted, by what tells most of RDMA, then the most first. */
  changed: PortCounter[];
  still: PortCounter[];
  /** Those of which nobody knows whether they counted. */
  unknown: PortCounter[];
  settings: PortCounter[];
}

/** Counters of the NIC that are explained tell more than the bytes that every interface counts. */
function rank({ source, meaning }: PortCounter): number {
  const bySource = { hardware: 0, driver: 1, port: 2, interface: 4, setting: 5 }[source];
  return bySource + (meaning === null ? 3 : 0);
}

export function groupCounters(counters: readonly PortCounter[]): Grouped {
  const out: Grouped = { changed: [], still: [], unknown: [], settings: [] };
  for (const counter of counters) {
    if (counter.source === "setting") out.settings.push(counter);
    else if (counter.delta === null) out.unknown.push(counter);
    else if (counter.delta > 0) out.changed.push(counter);
    else out.still.push(counter);
  }
  out.changed.sort((a, b) => rank(a) - rank(b) || (b.delta ?? 0) - (a.delta ?? 0) || a.name.localeCompare(b.name));
  for (const list of [out.still, out.unknown, out.settings]) list.sort((a, b) => rank(a) - rank(b) || a.key.localeCompare(b.key));
  return out;
}

/** Where a counter or setting belongs: its RDMA port, or the network interface. */
export function placeOf({ source, device, port }: PortCounter): string {
  if (device === "") return source === "driver" ? "driver" : "interface";
  return port === 0 ? device : `${device}/${port}`;
}

/** Why there is less than one might look for; nothing when the NIC's own counters are there. */
export function absenceOf(counters: readonly PortCounter[], rdma: string): string | undefined {
  if (counters.length === 0) return "The agent read no counters in this time: it was not running, or runs with --no-counters.";
  if (counters.some(({ source }) => source === "hardware" || source === "port")) return undefined;
  if (rdma === "no RDMA device") return "There is no RDMA device behind this interface: what the kernel and the driver count is all there is.";
  return "No counter of an RDMA port could be read: what the kernel and the driver count is all there is.";
}
