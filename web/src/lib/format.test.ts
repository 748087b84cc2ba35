import { describe, expect, it } from "vitest";
import {
  countOf,
  formatBitRate,
  formatBytes,
  formatCount,
  formatDuration,
  formatFileSize,
  formatHex,
  formatPacketRate,
  formatShare,
  formatTimeLeft,
  formatTransferRate,
} from "./format";

describe("counts", () => {
  it("parts digits in groups", () => {
    expect(formatCount(1063977)).toBe("1,063,977");
    expect(formatCount(0)).toBe("0");
  });
  it("chooses singular and plural", () => {
    expect(countOf(1, "packet")).toBe("1 packet");
    expect(countOf(0, "packet")).toBe("0 packets");
    expect(countOf(2, "query", "queries")).toBe("2 queries");
  });
});

describe("sizes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.00 kB"],
    [12_345, "12.3 kB"],
    [999_400, "999 kB"],
    [999_600, "1.00 MB"],
    [4_096_000_000, "4.10 GB"],
  ])("traffic of %d bytes is SI: %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
  it.each([
    [0, "0 B"],
    [1000, "1,000 B"],
    [1024, "1.00 KiB"],
    [6850, "6.69 KiB"],
    [1024 ** 3 * 1.5, "1.50 GiB"],
  ])("a file of %d bytes is binary: %s", (bytes, text) => {
    expect(formatFileSize(bytes)).toBe(text);
  });
});

describe("rates", () => {
  it("are SI bits a second", () => {
    expect(formatBitRate(400e9)).toBe("400 Gbit/s");
    expect(formatBitRate(99_960)).toBe("100 kbit/s");
    expect(formatBitRate(0)).toBe("0 bit/s");
    expect(formatBitRate(0.5)).toBe("0.50 bit/s");
  });
  it("of uploads are binary, of packets SI", () => {
    expect(formatTransferRate(1024 * 1024 * 12)).toBe("12.0 MiB/s");
    expect(formatPacketRate(950.4)).toBe("950/s");
    expect(formatPacketRate(1_204_000)).toBe("1.20 M/s");
  });
});

describe("shares", () => {
  it("never round something to nothing or nearly all to all", () => {
    expect(formatShare(0, 10)).toBe("0 %");
    expect(formatShare(1, 1_000_000)).toBe("< 0.01 %");
    expect(formatShare(999_999, 1_000_000)).toBe("> 99.99 %");
    expect(formatShare(10, 10)).toBe("100 %");
    expect(formatShare(1, 3)).toBe("33.3 %");
    expect(formatShare(1, 0)).toBe("–");
  });
});

describe("durations", () => {
  it.each([
    [0n, "0 ns"],
    [850n, "850 ns"],
    [12_345n, "12.3 µs"],
    [999_600n, "1.00 ms"],
    [4_560_000n, "4.56 ms"],
    [59_990_000_000n, "60.0 s"],
    [125_000_000_000n, "2 min 05 s"],
    [11_040_000_000_000n, "3 h 04 min"],
    [183_600_000_000_000n, "2 d 03 h"],
  ])("%d ns is %s", (ns, text) => {
    expect(formatDuration(ns)).toBe(text);
  });
  it("rounds what is left up", () => {
    expect(formatTimeLeft(0.2)).toBe("1 s");
    expect(formatTimeLeft(61)).toBe("1 min 01 s");
    expect(formatTimeLeft(Number.POSITIVE_INFINITY)).toBe("–");
  });
});

it("writes hex with a prefix", () => {
  expect(formatHex(17)).toBe("0x11");
  expect(formatHex(17, 6)).toBe("0x000011");
});
