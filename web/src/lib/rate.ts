const WINDOW_MS = 4_000;
const MIN_SPAN_MS = 400;

/** Rate of a growing count over the last seconds. Times in ms are handed in, so it has no clock. */
export class RateMeter {
  #samples: { at: number; count: number }[] = [];

  add(at: number, count: number): void {
    const last = this.#samples.at(-1);
    // A count that falls back, as a resumed upload's may, begins anew.
    if (last && count < last.count) this.#samples = [];
    this.#samples.push({ at, count });
    while (this.#samples.length > 2 && at - (this.#samples[0]?.at ?? at) > WINDOW_MS) this.#samples.shift();
  }

  reset(): void {
    this.#samples = [];
  }

  /** A second; undefined until there is enough to tell. */
  get rate(): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (!first || !last || last.at - first.at < MIN_SPAN_MS) return undefined;
    return ((last.count - first.count) / (last.at - first.at)) * 1000;
  }
}
