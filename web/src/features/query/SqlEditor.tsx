import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completeFromList,
  completionKeymap,
  ifNotIn,
  type Completion,
  type CompletionSource,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { sql, SQLDialect, type SQLNamespace } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
  tooltips,
  type DecorationSet,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useEffectEvent, useImperativeHandle, useRef, type Ref } from "react";
import type { Table } from "../../api/types";
import type { SqlPosition } from "../../lib/sqlError";
import classes from "./SqlEditor.module.css";

const TYPES =
  "UInt8 UInt16 UInt32 UInt64 UInt128 UInt256 Int8 Int16 Int32 Int64 Float32 Float64 String FixedString Date Date32 DateTime DateTime64 IPv4 IPv6 UUID Array Map Tuple Nullable LowCardinality Enum8 Enum16 Bool Decimal";
const FUNCTIONS =
  "count countIf sum sumIf avg avgIf min max minIf maxIf any argMin argMax uniq uniqExact quantile quantiles quantileExact median topK groupArray groupUniqArray arrayJoin arrayMap arrayFilter length round floor ceil abs toString toUInt32 toUInt64 toInt64 toFloat64 toDateTime toDateTime64 toStartOfSecond toStartOfMinute toStartOfInterval toUnixTimestamp64Nano dateDiff now formatReadableSize formatReadableQuantity formatReadableDecimalSize hex bin if multiIf coalesce ifNull nullIf isNull isNotNull concat substring lower upper match extract replaceOne IPv6NumToString toIPv6 toIPv4 lagInFrame leadInFrame row_number bitAnd bitOr bitShiftRight";
/** ClickHouse tells the case of these apart; the dialect knows words in lower case only. */
const SPELLING: ReadonlyMap<string, string> = new Map(`${TYPES} ${FUNCTIONS}`.split(" ").map((word) => [word.toLowerCase(), word]));

const clickhouse = SQLDialect.define({
  keywords:
    "select from where prewhere group by order limit offset having with as on using join inner left right full cross any all asof array sample final union distinct in not and or is null like ilike between case when then else end asc desc nulls first last settings format interval totals rollup cube over partition window rows range preceding following current row explain describe show",
  types: TYPES.toLowerCase(),
  builtin: FUNCTIONS.toLowerCase(),
  operatorChars: "*+-%<>!=/|&~^:?",
  identifierQuotes: "`\"",
  hashComments: true,
  backslashEscapes: true,
});

const highlight = HighlightStyle.define([
  { tag: tags.keyword, class: "sql-keyword" },
  { tag: tags.string, class: "sql-string" },
  { tag: [tags.number, tags.bool, tags.null], class: "sql-number" },
  { tag: [tags.typeName, tags.standard(tags.name)], class: "sql-builtin" },
  { tag: [tags.lineComment, tags.blockComment], class: "sql-comment" },
]);

const markError = StateEffect.define<SqlPosition | undefined>();
const errorLine = Decoration.line({ class: "sql-error-line" });
const errorMark = Decoration.mark({ class: "sql-error-mark" });

/** The place where the database saw an error, until the text changes. */
const errorField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, transaction) {
    let next = transaction.docChanged ? Decoration.none : decorations;
    for (const effect of transaction.effects) {
      if (!effect.is(markError)) continue;
      const position = effect.value;
      if (!position || position.line < 1 || position.line > transaction.state.doc.lines) {
        next = Decoration.none;
        continue;
      }
      const line = transaction.state.doc.line(position.line);
      const from = Math.min(line.to, line.from + Math.max(0, position.column - 1));
      const word = /^[\w.]+|^\S/.exec(transaction.state.sliceDoc(from, line.to))?.[0].length ?? 0;
      next = Decoration.set(word > 0 ? [errorLine.range(line.from), errorMark.range(from, from + word)] : [errorLine.range(line.from)]);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export interface SqlEditorHandle {
  insert: (text: string) => void;
  focus: () => void;
}

interface Props {
  value: string;
  onChange: (value: string) => void;
  onRun: () => void;
  tables: readonly Table[];
  error: SqlPosition | undefined;
  ref?: Ref<SqlEditorHandle>;
}

function namespace(tables: readonly Table[]): SQLNamespace {
  return Object.fromEntries(
    tables.map((table): [string, SQLNamespace] => [
      table.name,
      {
        self: { label: table.name, type: "class", detail: "table", ...(table.comment && { info: table.comment }) },
        children: table.columns.map((column) => ({
          label: column.name,
          type: "property",
          detail: column.type,
          ...(column.comment && { info: column.comment }),
        })),
      },
    ]),
  );
}

/** Columns of all tables, since a statement is begun before its FROM. */
function columnSource(tables: readonly Table[]): CompletionSource {
  const columns = new Map<string, { type: string; tables: string[] }>();
  for (const table of tables) {
    for (const { name, type } of table.columns) {
      const known = columns.get(name);
      if (known) known.tables.push(table.name);
      else columns.set(name, { type, tables: [table.name] });
    }
  }
  const options = [...columns].map(
    ([label, column]): Completion => ({ label, type: "property", detail: column.tables.join(", "), info: column.type }),
  );
  return ifNotIn(["QuotedIdentifier", "String", "LineComment", "BlockComment", "."], completeFromList(options));
}

export function SqlEditor({ value, onChange, onRun, tables, error, ref }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const language = useRef(new Compartment());
  const change = useEffectEvent(onChange);
  const run = useEffectEvent(onRun);
  const initial = useRef(value);

  useEffect(() => {
    if (!host.current) return;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: initial.current,
        extensions: [
          Prec.highest(
            keymap.of([
              {
                key: "Mod-Enter",
                run: () => {
                  run();
                  return true;
                },
              },
              {
                // Tab indents, so there must be a way out for the keyboard.
                key: "Escape",
                run: (target) => {
                  target.contentDOM.blur();
                  return true;
                },
              },
            ]),
          ),
          keymap.of([...completionKeymap]),
          lineNumbers(),
          highlightActiveLine(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          autocompletion(),
          tooltips({ position: "fixed" }),
          language.current.of([]),
          syntaxHighlighting(highlight),
          errorField,
          placeholder("SELECT … FROM flows"),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "SQL", "aria-multiline": "true" }),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) change(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    view.current?.dispatch({
      effects: language.current.reconfigure([
        sql({
          dialect: clickhouse,
          schema: namespace(tables),
          keywordCompletion: (word, type) => ({ label: SPELLING.get(word) ?? word.toUpperCase(), type, boost: -1 }),
        }),
        clickhouse.language.data.of({ autocomplete: columnSource(tables) }),
      ]),
    });
  }, [tables]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value }, selection: { anchor: value.length } });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: markError.of(error) });
  }, [error]);

  useImperativeHandle(ref, () => ({
    insert: (text) => {
      const editor = view.current;
      if (!editor) return;
      editor.dispatch(editor.state.replaceSelection(text), { scrollIntoView: true });
      editor.focus();
    },
    focus: () => view.current?.focus(),
  }));

  return <div ref={host} className={classes.editor} />;
}
