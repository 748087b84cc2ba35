import { describe, expect, it } from "vitest";
import { decodeState, formatQuery, newerThanKnown, parseQuery } from "./urlState";
import { captureSchema, packetsSchema, querySchema } from "./viewState";

describe("the codec of addresses", () => {
  it("reads back what it writes", () => {
    const state = {
      sort: "retransmitted",
      order: "asc",
      filter: "10.0.0.1 RC & 0x11 = 100 %",
      from: "2026-12-02T06:52:58.123456789Z",
      flow: "18446744073709551615",
      columns: "+ce_marked,-messages",
    } as const;
    expect(decodeState(captureSchema, parseQuery(formatQuery(state)))).toEqual(state);
  });
  it("keeps SQL to the character, line breaks and all", () => {
    const sql = "SELECT 1 + 1,\n  '%41 & \"ü\" #?'\nFROM flows -- +";
    expect(decodeState(querySchema, parseQuery(formatQuery({ sql })))).toEqual({ sql });
  });
  it("writes its version, and nothing when there is no state", () => {
    expect(formatQuery({})).toBe("");
    expect(formatQuery({ only: undefined, one_way: false, filter: "" })).toBe("");
    expect(formatQuery({ packet: 17, only: "ce", v: "9" })).toBe("?v=1&only=ce&packet=17");
    expect(formatQuery({ one_way: true })).toBe("?v=1&one_way=1");
  });
  it("leaves addresses readable", () => {
    expect(formatQuery({ filter: "10.0.0.1 rc", from: "2026-12-02T06:52:58Z" })).toBe(
      "?v=1&filter=10.0.0.1+rc&from=2026-12-02T06:52:58Z",
    );
  });
  it.each([
    ["?sort=colour", {}],
    ["?order=desc", {}],
    ["?flow=-1", {}],
    ["?filter=", {}],
    ["?unknown=1&filter=x", { filter: "x" }],
    ["?filter=first&filter=second", { filter: "first" }],
    ["?from=yesterday&to=2026-12-02T06:52:58Z", { to: "2026-12-02T06:52:58Z" }],
    ["?columns=drop%20table", {}],
    ["?%E0%A4%A=x", {}],
  ])("opens %s with defaults for what is not valid", (query, state) => {
    expect(decodeState(captureSchema, parseQuery(query))).toEqual(state);
  });
  it("names what is not valid, so that the router does not hand on its text", () => {
    const query = parseQuery("?only=nonsense&packet=x&clock=delta");
    expect({ ...query, ...decodeState(packetsSchema, query) }).toEqual({ only: undefined, packet: undefined, clock: "delta" });
  });
  it("checks numbers and flags, from text and from the program alike", () => {
    expect(decodeState(packetsSchema, parseQuery("?packet=17&one_way=1&field=2.1.4"))).toEqual({
      packet: 17,
      one_way: true,
      field: "2.1.4",
    });
    expect(decodeState(packetsSchema, { packet: 17, one_way: true })).toEqual({ packet: 17, one_way: true });
    expect(decodeState(packetsSchema, { packet: 0, field: "x" })).toEqual({});
    expect(decodeState(packetsSchema, parseQuery("?packet=1e3"))).toEqual({});
    expect(decodeState(packetsSchema, parseQuery("?packet=99999999999999999"))).toEqual({});
  });
  it("tells when a link was made by a later version", () => {
    expect(newerThanKnown("?v=2&sort=bytes")).toBe(true);
    expect(newerThanKnown("?v=1")).toBe(false);
    expect(newerThanKnown("?v=x")).toBe(false);
    expect(newerThanKnown("")).toBe(false);
  });
});
