import { keepPreviousData, useQueries, useQuery, type QueryKey, type UseQueryOptions } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import type { Item } from "./DataTable";

type PageQuery<D, K extends QueryKey> = UseQueryOptions<D, Error, D, K>;

/** Rows in view, whichever pages of them are needed for that. */
export function usePagedRows<T, D extends { total: number }, K extends QueryKey>(
  pageQuery: (page: number) => PageQuery<D, K>,
  rowsOf: (page: D) => readonly T[],
  pageSize: number,
) {
  const [range, setRange] = useState<[number, number]>([0, 0]);
  const head = useQuery({ ...pageQuery(0), placeholderData: keepPreviousData });
  const total = head.data?.total ?? 0;
  const pages = useMemo(() => {
    const first = Math.floor(range[0] / pageSize);
    const last = Math.floor(Math.min(range[1], Math.max(0, total - 1)) / pageSize);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index).filter((page) => page > 0);
  }, [range, total, pageSize]);
  const more = useQueries({ queries: pages.map((page) => pageQuery(page)) });
  const items: Item<T>[] = head.data === undefined ? [] : rowsOf(head.data as D).map((value, index) => ({ index, value }));
  for (const [position, page] of pages.entries()) {
    const data = more[position]?.data;
    if (data === undefined) continue;
    for (const [index, value] of rowsOf(data as D).entries()) items.push({ index: page * pageSize + index, value });
  }
  const failed = more.find(({ error }) => error !== null);
  const onRange = useCallback(
    (first: number, last: number) => setRange((before) => (before[0] === first && before[1] === last ? before : [first, last])),
    [],
  );
  return { items, total, head, failed, onRange };
}
