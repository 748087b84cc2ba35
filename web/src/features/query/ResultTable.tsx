import { CopyButton, Modal, Button } from "@mantine/core";
import { useMemo, useState } from "react";
import type { QueryResult } from "../../api/types";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { cellText, columnWidth, kindOf } from "../../lib/sqlTypes";
import classes from "./ResultTable.module.css";

type Row = readonly unknown[];

function Value({ value }: { value: unknown }) {
  const text = cellText(value);
  if (text === undefined) return <span className={classes.null}>NULL</span>;
  return <span title={text.length > 24 ? text : undefined}>{text}</span>;
}

function cellAt(position: number): Column<Row>["cell"] {
  return (row) => <Value value={row[position]} />;
}

/** Rows of an answer. Enter or a double click shows one row in full. */
export function ResultTable({ result }: { result: QueryResult }) {
  const [active, setActive] = useState<number>();
  const [shown, setShown] = useState<Row>();
  const items = useMemo(() => result.rows.map((value, index): { index: number; value: Row } => ({ index, value })), [result]);
  const columns = useMemo(
    () =>
      result.columns.map(({ name, type }, position): Column<Row> => {
        return {
          id: String(position),
          header: name,
          title: `${name}: ${type}`,
          width: columnWidth(name, result.rows.map((row) => row[position])),
          ...(kindOf(type) === "number" && { align: "right" as const }),
          mono: true,
          cell: cellAt(position),
        };
      }),
    [result],
  );
  return (
    <>
      <DataTable
        label="Result"
        className={classes.table}
        columns={columns}
        items={items}
        rowCount={items.length}
        rowHeight={26}
        active={active}
        onActive={setActive}
        onOpen={setShown}
        main
        empty={
          <EmptyState title="No rows">
            <p>The statement ran and found nothing.</p>
          </EmptyState>
        }
      />
      <Modal opened={shown !== undefined} onClose={() => setShown(undefined)} title="Row" size="xl">
        {shown && (
          <dl className={classes.record}>
            {columns.map(({ id, header: name }) => {
              const position = Number(id);
              const type = result.columns[position]?.type;
              const text = cellText(shown[position]);
              return (
                <div key={id}>
                  <dt>
                    {name}
                    <span className="muted"> {type}</span>
                  </dt>
                  <dd>
                    <Value value={shown[position]} />
                    {text !== undefined && text !== "" && (
                      <CopyButton value={text}>
                        {({ copied, copy }) => (
                          <Button size="compact-xs" variant="subtle" onClick={copy}>
                            {copied ? "Copied" : "Copy"}
                          </Button>
                        )}
                      </CopyButton>
                    )}
                  </dd>
                </div>
              );
            })}
          </dl>
        )}
      </Modal>
    </>
  );
}
