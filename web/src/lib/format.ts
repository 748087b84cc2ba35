/**
 * Numbers for people. Two systems of units, each where its readers expect it:
 *
 * - Traffic is SI (powers of 1000), as links are sold and switches count: kB, MB, Gbit/s.
 * - Files, disk and memory are binary (powers of 1024) and say so: KiB, MiB.
 *
 * Groups of digits are parted by a comma, decimals by a point, in every locale, because figures are copied into mails.
 */

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** What a capture cannot tell. */
export const UNKNOWN = "–";

export function formatCount(value: number): string {
  return whole.format(value);
}

/** Three significant digits, trailing zeros kept so that columns line up: 1.00, 12.3, 123. */
function significant(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return whole.format(value);
  if (size >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let step = 0;
  let rest = value;
  // 999.5 would be shown as 1000 of the smaller unit.
  while (Math.abs(rest) >= base - 0.5 && step < units.length - 1) {
    rest /= base;
    step++;
  }
  const unit = units[step] ?? "";
  if (step === 0 && Number.isInteger(rest)) return `${whole.format(rest)} ${unit}`;
  return `${significant(rest)} ${unit}`;
}

/** Bytes of traffic, SI. */
export function formatBytes(bytes: number): string {
  return scaled(bytes, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]);
}

/** Bytes of a file, of disk or of memory, binary. */
export function formatFileSize(bytes: number): string {
  return scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/** Bits a second, SI. */
export function formatBitRate(bitsPerSecond: number): string {
  return scaled(bitsPerSecond, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
}

/** Speed of an upload: bytes a second, binary like the file's size. */
export function formatTransferRate(bytesPerSecond: number): string {
  return `${formatFileSize(Math.round(bytesPerSecond))}/s`;
}

/** Packets a second: 950/s, 1.20 M/s. */
export function formatPacketRate(packetsPerSecond: number): string {
  const text = scaled(Math.round(packetsPerSecond), 1000, ["", "k", "M", "G"]);
  return text.endsWith(" ") ? `${text.trim()}/s` : `${text}/s`;
}

/** Share of a whole. Never rounds something to nothing, or nearly all to all. */
export function formatShare(part: number, total: number): string {
  if (total <= 0) return UNKNOWN;
  const share = (part / total) * 100;
  if (share === 0) return "0 %";
  if (share < 0.01) return "< 0.01 %";
  if (share > 99.99 && part < total) return "> 99.99 %";
  if (share === 100) return "100 %";
  return `${share < 10 ? share.toFixed(2) : share.toFixed(1)} %`;
}

/** Length of time in ns: 850 ns, 12.3 µs, 4.56 ms, 7.89 s, 2 min 05 s, 3 h 04 min, 2 d 03 h. */
export function formatDuration(ns: bigint | number): string {
  const value = Number(ns);
  const size = Math.abs(value);
  if (size < 999.5) return `${Math.round(value)} ns`;
  if (size < 999.5e3) return `${significant(value / 1e3)} µs`;
  if (size < 999.5e6) return `${significant(value / 1e6)} ms`;
  if (size < 59.995e9) return `${significant(value / 1e9)} s`;
  const seconds = Math.round(size / 1e9);
  const sign = value < 0 ? "-" : "";
  const two = (n: number): string => String(Math.floor(n)).padStart(2, "0");
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  if (seconds < 86400) return `${sign}${Math.floor(seconds / 3600)} h ${two((seconds % 3600) / 60)} min`;
  return `${sign}${Math.floor(seconds / 86400)} d ${two((seconds % 86400) / 3600)} h`;
}

/** Time that is left, from seconds: rounded up, so that it never promises too much. */
export function formatTimeLeft(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return UNKNOWN;
  const rest = Math.ceil(seconds);
  if (rest < 60) return `${rest} s`;
  return formatDuration(rest * 1e9);
}

export function formatHex(value: number, digits = 0): string {
  return `0x${value.toString(16).padStart(digits, "0")}`;
}

/** Chooses between singular and plural: 1 packet, 2 packets. */
export function countOf(value: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(value)} ${value === 1 ? singular : plural}`;
}
