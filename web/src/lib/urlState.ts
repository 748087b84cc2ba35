/**
 * The one codec between the state of a view and the query part of its address.
 *
 * Every value is plain text, so links can be read and edited: ?v=1&sort=packets&filter=10.0.0.1. Defaults are left
 * out. What is unknown or not valid falls back to its default, so an old or mistyped link still opens the page.
 * "v" is the version of the names and meanings; it is written as soon as there is any other key. A link of a later
 * version is read as far as it is understood, and newerThanKnown tells so.
 */

export const URL_VERSION = 1;

/** One value of a view: reads text, writes text; undefined from read means "not valid". */
export interface Field<T> {
  read: (text: string) => T | undefined;
  write: (value: T) => string;
}

export type Schema<S> = { readonly [K in keyof S]-?: Field<NonNullable<S[K]>> };

export const text = (maxLength: number): Field<string> => ({
  read: (raw) => (raw.length > 0 && raw.length <= maxLength ? raw : undefined),
  write: (value) => value,
});

export const oneOf = <const T extends string>(values: readonly T[]): Field<T> => ({
  read: (raw) => values.find((value) => value === raw),
  write: (value) => value,
});

/** Whole number from min up. */
export const integer = (min: number): Field<number> => ({
  read: (raw) => {
    const value = Number(raw);
    return /^\d{1,16}$/.test(raw) && Number.isSafeInteger(value) && value >= min ? value : undefined;
  },
  write: String,
});

export const flag: Field<true> = {
  read: (raw) => (raw === "1" ? true : undefined),
  write: () => "1",
};

export const pattern = (valid: RegExp): Field<string> => ({
  read: (raw) => (valid.test(raw) ? raw : undefined),
  write: (value) => value,
});

type Raw = Readonly<Record<string, unknown>>;

/** State of a view from the parameters of its address. Never throws. */
export function decodeState<S extends object>(schema: Schema<S>, raw: Raw): S {
  const state: Partial<S> = {};
  for (const key of Object.keys(schema) as (keyof S & string)[]) {
    const value = raw[key];
    if (value === undefined || value === null) continue;
    const field = schema[key];
    // Navigation inside the program hands over typed values; they pass through their text to be checked alike.
    const read = field.read(typeof value === "string" ? value : field.write(value as NonNullable<S[typeof key]>));
    // The router lays what is valid over the raw text, so what is not valid has to be there as undefined.
    state[key] = read as S[typeof key];
  }
  return state as S;
}

/** Parameters of an address as text: the router's parseSearch. */
export function parseQuery(query: string): Record<string, string> {
  const raw: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(query)) raw[key] ??= value;
  return raw;
}

/** The router's stringifySearch: keys in a fixed order, undefined and false left out. */
export function formatQuery(state: Raw): string {
  const parts: string[] = [];
  for (const key of Object.keys(state).toSorted()) {
    const value = state[key];
    if (key === "v" || value === undefined || value === null || value === false || value === "") continue;
    const written = value === true ? "1" : String(value as string | number);
    parts.push(`${encodeURIComponent(key)}=${encode(written)}`);
  }
  return parts.length === 0 ? "" : `?v=${URL_VERSION}&${parts.join("&")}`;
}

/** Percent-encoding that leaves what is harmless in a query readable. */
function encode(value: string): string {
  return encodeURIComponent(value).replace(/%20/g, "+").replace(/%(3A|2C|2F|40)/g, (escape) => decodeURIComponent(escape));
}

export function newerThanKnown(query: string): boolean {
  const version = Number(new URLSearchParams(query).get("v") ?? URL_VERSION);
  return Number.isInteger(version) && version > URL_VERSION;
}
