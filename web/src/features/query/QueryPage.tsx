import { Button, Kbd, Menu, ScrollArea } from "@mantine/core";
import { IconBook, IconHistory, IconPlayerPlay, IconPlayerStop } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { ApiError, client, messageOf, unwrap } from "../../api/client";
import { examplesQuery, schemaQuery, serviceQuery } from "../../api/queries";
import type { QueryResult } from "../../api/types";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { Split } from "../../components/Split";
import { countOf, formatBytes, formatCount, formatDuration } from "../../lib/format";
import { loadHistory, saveHistory, withEntry } from "../../lib/history";
import { positionOf } from "../../lib/sqlError";
import { formatAgo, toRFC3339 } from "../../lib/time";
import { Download } from "./Download";
import classes from "./QueryPage.module.css";
import { ResultTable } from "./ResultTable";
import { SchemaPanel } from "./SchemaPanel";
import { SqlEditor, type SqlEditorHandle } from "./SqlEditor";

const route = getRouteApi("/sql");
const MAX_ROWS = 10_000;

/** Seconds since it appeared. */
function Elapsed() {
  const [tenths, setTenths] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTenths((value) => value + 1), 100);
    return () => clearInterval(timer);
  }, []);
  return <>{(tenths / 10).toFixed(1)} s</>;
}

function Facts({ result }: { result: QueryResult }) {
  return (
    <span className={classes.facts} role="status">
      <strong>{countOf(result.row_count, "row")}</strong>
      <span>{formatDuration(Math.round(result.elapsed_seconds * 1e9))}</span>
      <span>
        {countOf(result.rows_read, "row")} read, {formatBytes(result.bytes_read)}
      </span>
      {result.truncated && (
        <span className={classes.truncated}>Only the first {formatCount(result.row_count)} rows are shown; a download has all.</span>
      )}
    </span>
  );
}

function Refusal({ error }: { error: unknown }) {
  const refused = error instanceof ApiError;
  return (
    <div className={classes.refusal} role="alert">
      <strong>{refused ? error.title : "The statement did not run"}</strong>
      {refused && error.code !== undefined && <span className="muted">ClickHouse error {error.code}</span>}
      <pre>{refused ? (error.detail ?? error.title) : messageOf(error)}</pre>
    </div>
  );
}

/** SQL over captures, flows and packets. The address holds the statement that was run last. */
export function QueryPage() {
  const { sql = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const queryClient = useQueryClient();
  const editor = useRef<SqlEditorHandle>(null);
  const [draft, setDraft] = useState(sql);
  const [lastSql, setLastSql] = useState(sql);
  const [openedAt] = useState(() => Date.now());
  const [history, setHistory] = useState(() => loadHistory(localStorage));
  if (lastSql !== sql) {
    // Back, forward, or a link: the editor follows the address.
    setLastSql(sql);
    setDraft(sql);
  }
  const schema = useQuery(schemaQuery);
  const examples = useQuery(examplesQuery);
  const service = useQuery(serviceQuery);
  const result = useQuery({
    queryKey: ["query", "result", sql],
    enabled: sql !== "",
    retry: false,
    staleTime: Infinity,
    refetchOnMount: false,
    queryFn: async ({ signal }) => {
      const answer = await unwrap(client.POST("/query", { body: { sql, format: "result", max_rows: MAX_ROWS }, signal }));
      // The contract's other forms are asked for by downloads only.
      return answer as QueryResult;
    },
  });
  const tables = schema.data;
  const running = result.fetchStatus === "fetching";
  const place = useMemo(() => {
    if (!(result.error instanceof ApiError) || draft !== sql) return undefined;
    return positionOf(result.error.detail ?? "");
  }, [result.error, draft, sql]);

  const run = (statement: string) => {
    const text = statement.trim() === "" ? "" : statement;
    if (text === "" || running) return;
    const next = withEntry(history, { sql: text, at: Date.now() });
    setHistory(next);
    saveHistory(localStorage, next);
    if (text === sql) {
      void result.refetch();
    } else {
      setDraft(text);
      queryClient.removeQueries({ queryKey: ["query", "result", text] });
      void navigate({ search: { sql: text } });
    }
  };
  const cancel = () => void queryClient.cancelQueries({ queryKey: ["query", "result", sql] });

  const disabled = service.data?.query_enabled === false;
  return (
    <Page
      documentTitle="SQL"
      title="SQL"
      aside={<span className="muted">read-only, over all captures</span>}
      actions={
        <>
          <Menu width={460}>
            <Menu.Target>
              <Button variant="default" leftSection={<IconBook size={14} />}>
                Examples
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <ScrollArea.Autosize mah="70vh">
                {examples.error && <Menu.Label>The examples could not be loaded.</Menu.Label>}
                {examples.data?.map((example) => (
                  <Menu.Item key={example.title} onClick={() => run(example.sql)}>
                    <div>{example.title}</div>
                    {example.description && <div className={classes.description}>{example.description}</div>}
                  </Menu.Item>
                ))}
              </ScrollArea.Autosize>
            </Menu.Dropdown>
          </Menu>
          <Menu width={560} disabled={history.length === 0}>
            <Menu.Target>
              <Button variant="default" leftSection={<IconHistory size={14} />} disabled={history.length === 0}>
                History
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <ScrollArea.Autosize mah="70vh">
                {history.map((entry) => (
                  <Menu.Item key={entry.sql} onClick={() => setDraft(entry.sql)}>
                    <div className={classes.past}>{entry.sql}</div>
                    <div className={classes.description}>{formatAgo(toRFC3339(BigInt(entry.at) * 1_000_000n), Math.max(openedAt, entry.at))}</div>
                  </Menu.Item>
                ))}
              </ScrollArea.Autosize>
            </Menu.Dropdown>
          </Menu>
          {running ? (
            <Button color="red" variant="light" leftSection={<IconPlayerStop size={14} />} onClick={cancel}>
              Cancel
            </Button>
          ) : (
            <Button
              leftSection={<IconPlayerPlay size={14} />}
              onClick={() => run(draft)}
              disabled={draft.trim() === "" || disabled}
              title="Ctrl+Enter"
            >
              Run
            </Button>
          )}
        </>
      }
    >
      {disabled && (
        <p className={classes.disabled} role="alert">
          SQL is switched off. {service.data?.query_disabled_reason}
        </p>
      )}
      <div className={classes.layout}>
        <Split
          name="sql"
          direction="column"
          initial={32}
          label="Size of the editor and the result"
          first={
            <SqlEditor ref={editor} value={draft} onChange={setDraft} onRun={() => run(draft)} tables={tables ?? NO_TABLES} error={place} />
          }
          second={
            <section className={classes.result} aria-label="Answer" aria-busy={running}>
              {(running || (result.data && !result.error)) && (
                <div className={classes.bar}>
                  {running && (
                    <span className="muted" role="status">
                      Running, <Elapsed />
                    </span>
                  )}
                  {!running && result.data && !result.error && <Facts result={result.data} />}
                  {!running && result.data && !result.error && (
                    <span className={classes.download}>
                      {draft !== sql && <span className="muted">of the statement that ran</span>}
                      <Download sql={sql} />
                    </span>
                  )}
                </div>
              )}
              {result.error && !running ? (
                <Refusal error={result.error} />
              ) : result.data ? (
                <ResultTable key={result.dataUpdatedAt} result={result.data} />
              ) : (
                <div className={classes.blank}>
                  {!running && (
                    <EmptyState title={sql ? "Cancelled" : "Ask anything of the captures"}>
                      <p>
                        Write a statement and press <Kbd size="xs">Ctrl</Kbd> <Kbd size="xs">Enter</Kbd>, or start from an example. Nothing
                        here can change data.
                      </p>
                      {!sql && examples.data && (
                        <div className={classes.starters}>
                          {examples.data.slice(0, 4).map((example) => (
                            <Button key={example.title} variant="default" onClick={() => run(example.sql)}>
                              {example.title}
                            </Button>
                          ))}
                        </div>
                      )}
                    </EmptyState>
                  )}
                </div>
              )}
            </section>
          }
        />
        <SchemaPanel
          tables={tables}
          error={schema.error}
          onRetry={() => void schema.refetch()}
          onInsert={(text) => editor.current?.insert(text)}
        />
      </div>
    </Page>
  );
}

const NO_TABLES: readonly never[] = [];
