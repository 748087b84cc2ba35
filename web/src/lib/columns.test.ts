import { expect, it } from "vitest";
import { columnChanges, hiddenColumns } from "./columns";

const all = ["source", "bytes", "acks", "vlan"];
const usual = new Set(["acks", "vlan"]);

it("reads back what it writes", () => {
  const hidden = hiddenColumns(all, usual, "+acks,-bytes");
  expect([...hidden].toSorted()).toEqual(["bytes", "vlan"]);
  expect(columnChanges(hidden, all, usual)).toBe("-bytes,+acks");
});

it("is nothing for the usual columns, and passes over columns that are gone", () => {
  expect(columnChanges(usual, all, usual)).toBeUndefined();
  expect([...hiddenColumns(all, usual, "-gone")].toSorted()).toEqual(["acks", "vlan"]);
});
