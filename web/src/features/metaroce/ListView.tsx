import { Button, Menu, TextInput } from "@mantine/core";
import { IconColumns3, IconSearch } from "@tabler/icons-react";
import type { QueryKey, UseQueryOptions } from "@tanstack/react-query";
import { useMemo, type ReactNode } from "react";
import { LIST_PAGE, type ListParams } from "../../api/queries";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { QueryError } from "../../components/QueryError";
import { useDraft } from "../../components/useDraft";
import { usePagedRows } from "../../components/usePagedRows";
import { columnChanges, hiddenColumns } from "../../lib/columns";
import { countOf } from "../../lib/format";
import type { ListState } from "../../lib/viewState";
import classes from "./ListView.module.css";

const FILTER_DELAY_MS = 250;
const trimmed = (value: string): string => value.trim();

/** How a kind of rows is listed. */
export interface Listing<T, S extends string> {
  title: string;
  /** "path", for counts. */
  noun: string;
  filterHint: string;
  filterTitle: string;
  sorts: readonly S[];
  usualSort: S;
  /** Columns that begin with the smallest value when sorted by. */
  ascendingFirst: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  empty: ReactNode;
  key: (row: T) => string;
}

interface Props<T, S extends string, D extends { total: number }, K extends QueryKey> {
  listing: Listing<T, S>;
  columnsOf: (rows: readonly T[]) => Column<T>[];
  flowId?: string | undefined;
  state: ListState<S>;
  onState: (change: Partial<ListState<S>>) => void;
  query: (params: ListParams<S>, page: number) => UseQueryOptions<D, Error, D, K>;
  rowsOf: (page: D) => readonly T[];
  activeKey: string | undefined;
  onActive: (row: T) => void;
  onOpen?: (row: T) => void;
}

/** A list of rows of a flow or a capture: sorted, filtered, of any length. */
export function ListView<T, S extends string, D extends { total: number }, K extends QueryKey>({
  listing,
  columnsOf,
  flowId,
  state,
  onState,
  query,
  rowsOf,
  activeKey,
  onActive,
  onOpen,
}: Props<T, S, D, K>) {
  const sort = state.sort ?? listing.usualSort;
  const order = state.order ?? "asc";
  const filter = state.filter ?? "";
  const [typed, setTyped] = useDraft(filter, trimmed, (value) => onState({ filter: value.trim() || undefined }), FILTER_DELAY_MS);
  const { items, total, head, failed, onRange } = usePagedRows(
    (page) => query({ flowId, sort, order, filter }, page),
    rowsOf,
    LIST_PAGE,
  );
  const rows = useMemo(() => (head.data === undefined ? [] : rowsOf(head.data as D)), [head.data, rowsOf]);
  const columns = useMemo(() => columnsOf(rows), [columnsOf, rows]);
  const ids = useMemo(() => columns.map(({ id }) => id), [columns]);
  const hidden = useMemo(() => hiddenColumns(ids, listing.hidden, state.columns), [ids, listing.hidden, state.columns]);
  const active = activeKey === undefined ? undefined : items.find(({ value }) => listing.key(value) === activeKey)?.index;
  const sortBy = (id: string) => {
    const chosen = listing.sorts.find((value) => value === id);
    if (!chosen) return;
    const ascending = chosen === sort ? order === "desc" : listing.ascendingFirst.has(chosen);
    onState({ sort: chosen === listing.usualSort ? undefined : chosen, order: ascending ? undefined : "desc" });
  };
  return (
    <section className={classes.root} aria-label={listing.title}>
      <div className={classes.bar}>
        <h2 className={classes.title}>{listing.title}</h2>
        <span className="muted" role="status">
          {head.data && !head.isPlaceholderData ? countOf(total, filter ? "match" : listing.noun, filter ? "matches" : undefined) : ""}
        </span>
        <TextInput
          className={classes.filter}
          aria-label={`Filter ${listing.title.toLowerCase()}`}
          placeholder={listing.filterHint}
          title={listing.filterTitle}
          leftSection={<IconSearch size={14} />}
          value={typed}
          maxLength={200}
          data-filter
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <Menu closeOnItemClick={false}>
          <Menu.Target>
            <Button variant="default" leftSection={<IconColumns3 size={14} />}>
              Columns
            </Button>
          </Menu.Target>
          <Menu.Dropdown className={classes.columns}>
            {columns.slice(1).map(({ id, header, title }) => (
              <Menu.CheckboxItem
                key={id}
                checked={!hidden.has(id)}
                onChange={() => {
                  const next = new Set(hidden);
                  if (!next.delete(id)) next.add(id);
                  onState({ columns: columnChanges(next, ids, listing.hidden) });
                }}
              >
                {header}
                {title && <span className={classes.explain}>{title}</span>}
              </Menu.CheckboxItem>
            ))}
          </Menu.Dropdown>
        </Menu>
      </div>
      {failed && (
        <p className={classes.failed} role="alert">
          Some rows could not be loaded.{" "}
          <button type="button" onClick={() => void failed.refetch()}>
            Try again
          </button>
        </p>
      )}
      {head.error ? (
        <QueryError
          error={head.error}
          what={`The ${listing.title.toLowerCase()}`}
          onRetry={() => void head.refetch()}
          onClearFilter={filter ? () => setTyped("") : undefined}
        />
      ) : (
        <DataTable
          main
          label={listing.title}
          className={classes.table}
          columns={columns}
          items={items}
          rowCount={head.isPending ? 4 : total}
          hidden={hidden}
          sort={{ id: sort, desc: order === "desc" }}
          onSort={sortBy}
          active={active}
          onActive={(index) => {
            const row = items.find((item) => item.index === index)?.value;
            if (row !== undefined) onActive(row);
          }}
          {...(onOpen && { onOpen, openOnClick: true })}
          busy={head.isFetching}
          onRange={onRange}
          empty={
            filter ? (
              <EmptyState title={`No ${listing.noun} matches`}>
                <p>{listing.filterTitle}</p>
                <Button variant="default" onClick={() => setTyped("")}>
                  Clear the filter
                </Button>
              </EmptyState>
            ) : (
              listing.empty
            )
          }
        />
      )}
    </section>
  );
}
