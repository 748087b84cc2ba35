import { describe, expect, it } from "vitest";
import type { FieldNode } from "../api/types";
import { ancestors, asciiOf, decodeBase64, deepestAt, describeRange, nodeAt, rangeOf, selectAt, visibleRows } from "./fieldTree";

const leaf = (name: string, offset: number, length: number, bits?: [number, number]): FieldNode => ({
  name,
  offset,
  length,
  ...(bits && { bit_offset: bits[0], bit_length: bits[1] }),
});

/** Ethernet 0–13, then a header at 14 whose byte 15 holds three fields. */
const tree: FieldNode = {
  name: "packet",
  offset: 0,
  length: 20,
  children: [
    { name: "eth", offset: 0, length: 14, children: [leaf("dst", 0, 6), leaf("src", 6, 6), leaf("type", 12, 2)] },
    {
      name: "bth",
      offset: 14,
      length: 6,
      children: [
        leaf("opcode", 14, 1),
        leaf("se", 15, 1, [0, 1]),
        leaf("pad", 15, 1, [2, 2]),
        leaf("tver", 15, 1, [4, 4]),
        leaf("note", 0, 0),
      ],
    },
  ],
};

describe("bytes to fields", () => {
  it("finds the deepest field of a byte", () => {
    expect(deepestAt(tree, 0)).toEqual(["0.0"]);
    expect(deepestAt(tree, 13)).toEqual(["0.2"]);
    expect(deepestAt(tree, 14)).toEqual(["1.0"]);
  });
  it("lists fields that share a byte, in their order", () => {
    expect(deepestAt(tree, 15)).toEqual(["1.1", "1.2", "1.3"]);
  });
  it("falls back to the group where no field covers the byte, and to nothing outside", () => {
    expect(deepestAt(tree, 18)).toEqual(["1"]);
    expect(deepestAt(tree, 20)).toEqual([]);
  });
  it("walks through shared fields at each further click", () => {
    expect(selectAt(tree, 15, undefined)).toBe("1.1");
    expect(selectAt(tree, 15, "1.1")).toBe("1.2");
    expect(selectAt(tree, 15, "1.3")).toBe("1.1");
    expect(selectAt(tree, 15, "0.0")).toBe("1.1");
    expect(selectAt(tree, 99, "0.0")).toBeUndefined();
  });
});

describe("fields to bytes", () => {
  it("gives ranges and names them", () => {
    const bytes = new Uint8Array(20);
    bytes[15] = 0b1011_0110;
    expect(rangeOf(leaf("x", 6, 6))).toEqual({ start: 6, end: 12 });
    expect(rangeOf(leaf("note", 0, 0))).toBeUndefined();
    expect(describeRange(leaf("src", 6, 6), bytes)).toBe("bytes 6–11");
    expect(describeRange(leaf("opcode", 14, 1), bytes)).toBe("byte 14");
    expect(describeRange(leaf("se", 15, 1, [0, 1]), bytes)).toBe("byte 15, bit 0 = 1");
    expect(describeRange(leaf("pad", 15, 1, [2, 2]), bytes)).toBe("byte 15, bits 2–3 = 11");
    expect(describeRange(leaf("whole", 15, 1, [0, 8]), bytes)).toBe("byte 15");
    expect(describeRange(leaf("cut", 19, 2, [4, 12]), bytes)).toBe("bytes 19–20, bits 4–15");
  });
});

describe("the tree", () => {
  it("finds nodes by path", () => {
    expect(nodeAt(tree, "1.2")?.name).toBe("pad");
    expect(nodeAt(tree, "1.9")).toBeUndefined();
    expect(ancestors("2.1.4")).toEqual(["2", "2.1"]);
    expect(ancestors("2")).toEqual([]);
  });
  it("lists visible rows with their place among siblings", () => {
    const rows = visibleRows(tree, (path) => path === "1");
    expect(rows.map((row) => row.path)).toEqual(["0", "1", "1.0", "1.1", "1.2", "1.3", "1.4"]);
    expect(rows[2]).toMatchObject({ depth: 1, position: 1, siblings: 5, expandable: false });
  });
});

it("reads base64 and shows bytes", () => {
  expect([...decodeBase64("AP9B")]).toEqual([0, 255, 65]);
  expect(asciiOf(0x41)).toBe("A");
  expect(asciiOf(0x7f)).toBe("·");
});
