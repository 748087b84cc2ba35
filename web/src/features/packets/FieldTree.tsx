import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { FieldNode } from "../../api/types";
import { ancestors, nodeAt, visibleRows, type FieldRow } from "../../lib/fieldTree";
import classes from "./FieldTree.module.css";

interface Props {
  tree: FieldNode;
  selected: string | undefined;
  onSelect: (path: string) => void;
}

/** Groups are told apart by their names, so that they stay open from one packet to the next. */
function nameKey(tree: FieldNode, path: string): string {
  return [...ancestors(path), path].map((part) => nodeAt(tree, part)?.name ?? part).join("/");
}

/** Open at first: what this program is about. What lies below and above it waits. */
const CLOSED_AT_FIRST = /^(capture|ethernet|802\.1|vlan|qinq|linux|loopback|ipv4|ipv6|udp|payload|grh)/i;

const LONGEST_VALUE = 48;

function valueText(node: FieldNode): string | undefined {
  const { value } = node;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // The bytes beside the tree show the rest.
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)} …` : text;
}

/** The fields of a packet as an ARIA tree. Arrow keys move and open, as in any tree. */
export function FieldTree({ tree, selected, onSelect }: Props) {
  const id = useId();
  const root = useRef<HTMLDivElement>(null);
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const open = useMemo(() => new Set(selected === undefined ? [] : ancestors(selected)), [selected]);
  const [closedOver, setClosedOver] = useState<string>();
  const rows = useMemo(
    () =>
      visibleRows(tree, (path, node) => {
        // A field that is selected shows itself, until the user closes a group over it.
        if (open.has(path) && closedOver !== selected) return true;
        return toggled.get(nameKey(tree, path)) ?? !(CLOSED_AT_FIRST.test(node.name) && !path.includes("."));
      }),
    [tree, toggled, open, closedOver, selected],
  );
  const active = rows.findIndex((row) => row.path === selected);

  useEffect(() => {
    if (active >= 0) root.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);

  const toggle = (row: FieldRow, expanded: boolean) => {
    setClosedOver(expanded ? undefined : selected);
    setToggled((map) => new Map(map).set(nameKey(tree, row.path), expanded));
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[active];
    const go = (index: number) => {
      const target = rows[Math.max(0, Math.min(rows.length - 1, index))];
      if (target) onSelect(target.path);
    };
    switch (event.key) {
      case "j":
      case "ArrowDown":
        go(active + 1);
        break;
      case "k":
      case "ArrowUp":
        go(active - 1);
        break;
      case "Home":
        go(0);
        break;
      case "End":
        go(rows.length - 1);
        break;
      case "ArrowRight":
        if (row?.expandable && !row.expanded) toggle(row, true);
        else if (row?.expanded) go(active + 1);
        break;
      case "ArrowLeft":
        if (row?.expanded) toggle(row, false);
        else if (row) {
          const parent = ancestors(row.path).at(-1);
          if (parent !== undefined) onSelect(parent);
        }
        break;
      case "Enter":
      case " ":
        if (row?.expandable) toggle(row, !row.expanded);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={root}
      className={classes.tree}
      role="tree"
      aria-label="Fields"
      tabIndex={0}
      aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
      onKeyDown={onKeyDown}
    >
      {rows.map((row, index) => {
        const value = valueText(row.node);
        return (
          <div
            key={row.path}
            id={`${id}-${index}`}
            role="treeitem"
            aria-level={row.depth + 1}
            aria-posinset={row.position}
            aria-setsize={row.siblings}
            aria-selected={row.path === selected}
            aria-expanded={row.expandable ? row.expanded : undefined}
            data-path={row.path}
            data-group={row.depth === 0 || undefined}
            data-severity={row.node.severity}
            className={classes.row}
            style={{ paddingLeft: 6 + row.depth * 15 }}
            title={row.node.field}
            onClick={() => {
              onSelect(row.path);
              if (row.depth === 0 && row.expandable && !row.expanded) toggle(row, true);
            }}
            onDoubleClick={() => row.expandable && toggle(row, !row.expanded)}
          >
            <span
              className={classes.twisty}
              aria-hidden
              data-state={row.expandable ? (row.expanded ? "open" : "closed") : "leaf"}
              onClick={(event) => {
                if (!row.expandable) return;
                event.stopPropagation();
                toggle(row, !row.expanded);
              }}
            />
            <span className={classes.name}>{row.node.name}</span>
            {value !== undefined && <span className={classes.value}>{value}</span>}
            {row.node.meaning && <span className={classes.meaning}>{row.node.meaning}</span>}
          </div>
        );
      })}
    </div>
  );
}
