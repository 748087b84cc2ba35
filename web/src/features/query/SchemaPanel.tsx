import { Skeleton, TextInput } from "@mantine/core";
import { IconChevronRight, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import type { Table } from "../../api/types";
import { QueryError } from "../../components/QueryError";
import { formatCount } from "../../lib/format";
import classes from "./SchemaPanel.module.css";

interface Props {
  tables: readonly Table[] | undefined;
  error: unknown;
  onRetry: () => void;
  onInsert: (text: string) => void;
}

/** Names that need no quotes stay without. */
export function quoted(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `\`${name.replaceAll("`", "\\`")}\``;
}

export function SchemaPanel({ tables, error, onRetry, onInsert }: Props) {
  const [filter, setFilter] = useState("");
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(["flows"]));
  const word = filter.trim().toLowerCase();
  const matches = (text: string) => text.toLowerCase().includes(word);
  const toggle = (name: string) =>
    setOpen((names) => {
      const next = new Set(names);
      if (!next.delete(name)) next.add(name);
      return next;
    });
  return (
    <aside className={classes.root} aria-label="Schema">
      <div className={classes.head}>
        <TextInput
          aria-label="Filter tables and columns"
          placeholder="Tables and columns"
          leftSection={<IconSearch size={14} />}
          value={filter}
          data-filter
          onChange={(event) => setFilter(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </div>
      <div className={classes.scroll}>
        {error && !tables ? <QueryError error={error} what="The schema" onRetry={onRetry} /> : null}
        {!tables && !error && [1, 2, 3, 4, 5].map((line) => <Skeleton key={line} height={14} m={10} w={180} />)}
        {tables?.map((table) => {
          const inTable = word === "" || matches(table.name);
          const columns = inTable ? table.columns : table.columns.filter((column) => matches(column.name) || matches(column.comment));
          if (!inTable && columns.length === 0) return null;
          const expanded = open.has(table.name) || (word !== "" && columns.length > 0);
          return (
            <section key={table.name}>
              <div className={classes.table}>
                <button
                  type="button"
                  className={classes.toggle}
                  aria-expanded={expanded}
                  aria-label={`Columns of ${table.name}`}
                  onClick={() => toggle(table.name)}
                >
                  <IconChevronRight size={14} className={classes.chevron} data-open={expanded || undefined} />
                </button>
                <button type="button" className={classes.name} title={table.comment || undefined} onClick={() => onInsert(quoted(table.name))}>
                  {table.name}
                </button>
                {table.rows !== undefined && <span className={classes.rows}>{formatCount(table.rows)} rows</span>}
              </div>
              {expanded && (
                <ul className={classes.columns}>
                  {table.comment && <li className={classes.comment}>{table.comment}</li>}
                  {columns.map((column) => (
                    <li key={column.name}>
                      <button
                        type="button"
                        className={classes.column}
                        title={`${column.type}${column.comment ? `\n${column.comment}` : ""}`}
                        onClick={() => onInsert(quoted(column.name))}
                      >
                        <span>{column.name}</span>
                        <span className={classes.type}>{column.type}</span>
                      </button>
                    </li>
                  ))}
                </ul>
              )}
            </section>
          );
        })}
      </div>
    </aside>
  );
}
