/** Place of a value between two others on a logarithmic scale, 0 to 1. Equal ends put everything in the middle. */
export function placeOnLog(value: number, from: number, to: number): number {
  const least = Math.max(1, from);
  const most = Math.max(least, to);
  if (most === least) return 0.5;
  return Math.min(1, Math.max(0, Math.log(Math.max(1, value) / least) / Math.log(most / least)));
}
