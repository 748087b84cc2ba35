import { columnVisibilityFeature, flexRender, tableFeatures, useTable, type ColumnDef, type Row } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  memo,
  useEffect,
  useEffectEvent,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type Ref,
} from "react";
import classes from "./DataTable.module.css";

/** A row that is loaded; rows between them are shown as placeholders. */
export interface Item<T> {
  index: number;
  value: T;
}

export interface Column<T> {
  id: string;
  /** Shown above the column. */
  header: string;
  /** Full name, where the header is short. */
  title?: string;
  /** Least width, px. */
  width: number;
  /** Share of what is left of the table's width. */
  grow?: number;
  align?: "right" | "center";
  mono?: boolean;
  sortable?: boolean;
  cell: (value: T) => ReactNode;
}

export interface Sort {
  id: string;
  desc: boolean;
}

export interface DataTableHandle {
  scrollToIndex: (index: number) => void;
}

interface Props<T> {
  /** What the table lists, for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  items: readonly Item<T>[];
  rowCount: number;
  rowHeight?: number;
  hidden?: ReadonlySet<string>;
  sort?: Sort;
  onSort?: (id: string) => void;
  active?: number | undefined;
  onActive?: (index: number) => void;
  onOpen?: (value: T, index: number) => void;
  /** A single click opens too. */
  openOnClick?: boolean;
  /** Called when other rows come into view: first and last. */
  onRange?: (first: number, last: number) => void;
  /** Attributes of a row, for its looks: data-tone="bad". */
  rowAttributes?: (value: T, index: number) => Attributes;
  onHover?: (value: T | undefined) => void;
  empty?: ReactNode;
  /** Takes j and k of the whole page. */
  main?: boolean;
  busy?: boolean;
  /** Names a row, so that the view holds still when rows are put before it. */
  anchorKey?: (value: T) => number | string;
  className?: string | undefined;
  ref?: Ref<DataTableHandle>;
}

const features = tableFeatures({ columnVisibilityFeature });
type Features = typeof features;

const OVERSCAN = 12;
const HEADER_HEIGHT = 30;
/** Left and right padding of a row, as in the style sheet. */
const ROW_PADDING = 8;

function rowStyle(start: number, height: number, template: string): CSSProperties {
  return { transform: `translateY(${start}px)`, height, gridTemplateColumns: template };
}

type Attributes = Record<`data-${string}`, string | undefined>;

interface RowProps<T> {
  row: Row<Features, Item<T>>;
  byId: ReadonlyMap<string, Column<T>>;
  id: string;
  start: number;
  height: number;
  template: string;
  active: boolean;
  attributes: Attributes | undefined;
}

function PlainRow<T>({ row, byId, id, start, height, template, active, attributes }: RowProps<T>) {
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={row.original.index + 2}
      aria-selected={active}
      data-index={row.original.index}
      className={classes.row}
      style={rowStyle(start, height, template)}
      {...attributes}
    >
      {row.getVisibleCells().map((cell) => {
        const column = byId.get(cell.column.id);
        return (
          <div key={cell.id} role="gridcell" className={classes.cell} data-align={column?.align} data-mono={column?.mono || undefined}>
            {flexRender(cell.column.columnDef.cell, cell.getContext())}
          </div>
        );
      })}
    </div>
  );
}

function sameAttributes(a: Attributes | undefined, b: Attributes | undefined): boolean {
  if (a === b) return true;
  const entries = Object.entries(a ?? {});
  return entries.length === Object.keys(b ?? {}).length && entries.every(([key, value]) => b?.[key as `data-${string}`] === value);
}

const DataRow = memo(PlainRow, ({ attributes: a, ...before }, { attributes: b, ...after }) => {
  const keys = Object.keys(before) as (keyof typeof before)[];
  return keys.every((key) => before[key] === after[key]) && sameAttributes(a, b);
}) as typeof PlainRow;

/**
 * A table for any number of rows: only those in view exist. It is an ARIA grid with one tab stop; the arrow keys,
 * j and k move the active row, Enter opens it.
 */
export function DataTable<T>({
  label,
  columns,
  items,
  rowCount,
  rowHeight = 28,
  hidden,
  sort,
  onSort,
  active,
  onActive,
  onOpen,
  openOnClick = false,
  onRange,
  rowAttributes,
  onHover,
  empty,
  main = false,
  busy = false,
  anchorKey,
  className,
  ref,
}: Props<T>) {
  const gridId = useId();
  const scrollRef = useRef<HTMLDivElement>(null);

  const definitions = useMemo(
    () =>
      columns.map(
        (column): ColumnDef<Features, Item<T>> => ({
          id: column.id,
          header: column.header,
          cell: ({ row }) => column.cell(row.original.value),
        }),
      ),
    [columns],
  );
  const byId = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns]);
  const columnVisibility = useMemo(
    () => Object.fromEntries(columns.map((column) => [column.id, !hidden?.has(column.id)])),
    [columns, hidden],
  );
  const data = useMemo(() => [...items], [items]);
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: (item: Item<T>) => String(item.index),
    state: { columnVisibility },
  });
  const rowsById = table.getCoreRowModel().rowsById;
  const headers = table.getHeaderGroups()[0]?.headers ?? [];
  const shown = headers.flatMap((header) => byId.get(header.column.id) ?? []);
  const template = shown.map(({ width, grow }) => (grow ? `minmax(${width}px, ${grow}fr)` : `${width}px`)).join(" ");
  const minWidth = shown.reduce((sum, { width }) => sum + width, ROW_PADDING);

  const virtualizer = useVirtualizer({
    count: rowCount,
    getScrollElement: () => scrollRef.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    // The header covers the top of the view and moves the rows down by as much.
    scrollPaddingEnd: HEADER_HEIGHT,
  });
  useImperativeHandle(ref, () => ({
    scrollToIndex: (index) => virtualizer.scrollToIndex(index, { align: "center" }),
  }));
  const virtualRows = virtualizer.getVirtualItems();
  const first = virtualRows[0]?.index ?? 0;
  const last = virtualRows.at(-1)?.index ?? 0;

  const reportRange = useEffectEvent((from: number, to: number) => onRange?.(from, to));
  useEffect(() => reportRange(first, last), [first, last, rowCount]);

  // Rows that are put before what is in view must not move it.
  const anchor = useRef<{ key: number | string; index: number }[]>([]);
  useLayoutEffect(() => {
    const element = scrollRef.current;
    if (!anchorKey || !element) return;
    for (const before of anchor.current) {
      const now = items.find((item) => anchorKey(item.value) === before.key);
      if (!now) continue;
      if (now.index !== before.index) element.scrollTop += (now.index - before.index) * rowHeight;
      break;
    }
    anchor.current = [items[0], items.at(-1)].flatMap((item) =>
      item ? [{ key: anchorKey(item.value), index: item.index }] : [],
    );
  }, [items, anchorKey, rowHeight]);

  const moveTo = (index: number): void => {
    const target = Math.max(0, Math.min(rowCount - 1, index));
    onActive?.(target);
    virtualizer.scrollToIndex(target, { align: "auto" });
  };

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || rowCount === 0) return;
    if (event.target !== event.currentTarget && event.key === "Enter") return;
    const page = Math.max(1, Math.floor((scrollRef.current?.clientHeight ?? 300) / rowHeight) - 2);
    const at = active ?? -1;
    switch (event.key) {
      case "j":
      case "ArrowDown":
        moveTo(at + 1);
        break;
      case "k":
      case "ArrowUp":
        moveTo(at - 1);
        break;
      case "PageDown":
        moveTo(at + page);
        break;
      case "PageUp":
        moveTo(at - page);
        break;
      case "Home":
        moveTo(0);
        break;
      case "End":
        moveTo(rowCount - 1);
        break;
      case "Enter": {
        const row = active === undefined ? undefined : rowsById[String(active)];
        if (!row || !onOpen) return;
        onOpen(row.original.value, row.original.index);
        break;
      }
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  // One set of handlers for all rows, so that a row is drawn anew only when it changes.
  const itemOf = (event: MouseEvent): Item<T> | undefined => {
    const index = (event.target as HTMLElement).closest<HTMLElement>("[data-index]")?.dataset["index"];
    return index === undefined ? undefined : rowsById[index]?.original;
  };
  const onClick = (event: MouseEvent): void => {
    const item = itemOf(event);
    // Links and buttons inside of a row act for themselves.
    if (!item || (event.target as HTMLElement).closest("a, button, input")) return;
    onActive?.(item.index);
    if (openOnClick) onOpen?.(item.value, item.index);
  };
  const onDoubleClick = (event: MouseEvent): void => {
    const item = itemOf(event);
    if (item && !openOnClick) onOpen?.(item.value, item.index);
  };

  const activeId = active === undefined ? undefined : `${gridId}-${active}`;
  return (
    <div
      ref={scrollRef}
      className={className ? `${classes.scroll} ${className}` : classes.scroll}
      role="grid"
      aria-label={label}
      aria-rowcount={Math.max(1, rowCount) + 1}
      aria-colcount={headers.length}
      aria-busy={busy}
      aria-activedescendant={activeId}
      aria-readonly
      tabIndex={0}
      data-main-list={main || undefined}
      onKeyDown={onKeyDown}
    >
      <div className={classes.header} role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, height: HEADER_HEIGHT, minWidth }}>
        {headers.map((header) => {
          const column = byId.get(header.column.id);
          if (!column) return null;
          const sorted = sort?.id === column.id ? sort : undefined;
          const direction = sorted ? (sorted.desc ? "descending" : "ascending") : "none";
          return (
            <div
              key={header.id}
              role="columnheader"
              className={classes.headerCell}
              data-align={column.align}
              title={column.title}
              aria-sort={column.sortable ? direction : undefined}
            >
              {column.sortable && onSort ? (
                <button
                  type="button"
                  className={classes.sort}
                  data-sorted={direction}
                  onClick={() => onSort(column.id)}
                >
                  {column.header}
                </button>
              ) : (
                <span className={column.header ? classes.headerText : "visually-hidden"}>{column.header || column.title}</span>
              )}
            </div>
          );
        })}
      </div>
      {rowCount === 0 ? (
        <div role="row" aria-rowindex={2} className={classes.empty}>
          <div role="gridcell" aria-colspan={headers.length}>
            {empty}
          </div>
        </div>
      ) : (
        <div
          className={classes.body}
          role="rowgroup"
          onClick={onClick}
          onDoubleClick={onDoubleClick}
          onMouseMove={onHover && ((event) => onHover(itemOf(event)?.value))}
          onMouseLeave={onHover && (() => onHover(undefined))}
          style={{ height: virtualizer.getTotalSize(), minWidth }}
        >
          {virtualRows.map((virtualRow) => {
            const row = rowsById[String(virtualRow.index)];
            const common = {
              id: `${gridId}-${virtualRow.index}`,
              role: "row",
              "aria-rowindex": virtualRow.index + 2,
              style: rowStyle(virtualRow.start, rowHeight, template),
            };
            if (!row) {
              return (
                <div key={virtualRow.key} {...common} className={classes.row} aria-busy>
                  <div role="gridcell" className={classes.placeholder} />
                </div>
              );
            }
            const { value, index } = row.original;
            return (
              <DataRow
                key={virtualRow.key}
                row={row}
                byId={byId}
                id={common.id}
                start={virtualRow.start}
                height={rowHeight}
                template={template}
                active={active === index}
                attributes={rowAttributes?.(value, index)}
              />
            );
          })}
        </div>
      )}
    </div>
  );
}
