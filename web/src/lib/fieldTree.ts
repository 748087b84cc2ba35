import type { FieldNode } from "../api/types";

/**
 * The field tree of a packet and its bytes. A field is named by its path: the indexes of its ancestors and itself
 * below the root, "2.1.4". The root has the empty path and is not shown.
 */

export interface FieldRow {
  path: string;
  depth: number;
  node: FieldNode;
  expandable: boolean;
  expanded: boolean;
  position: number;
  siblings: number;
}

/** Rows of the tree that are visible, from top to bottom. */
export function visibleRows(root: FieldNode, isExpanded: (path: string, node: FieldNode) => boolean): FieldRow[] {
  const rows: FieldRow[] = [];
  const walk = (nodes: readonly FieldNode[], prefix: string, depth: number): void => {
    for (const [index, node] of nodes.entries()) {
      const path = prefix === "" ? String(index) : `${prefix}.${index}`;
      const expandable = (node.children?.length ?? 0) > 0;
      const expanded = expandable && isExpanded(path, node);
      rows.push({ path, depth, node, expandable, expanded, position: index + 1, siblings: nodes.length });
      if (expanded) walk(node.children ?? [], path, depth + 1);
    }
  };
  walk(root.children ?? [], "", 0);
  return rows;
}

export function nodeAt(root: FieldNode, path: string): FieldNode | undefined {
  let node: FieldNode | undefined = root;
  for (const index of path.split(".")) node = node?.children?.[Number(index)];
  return node === root ? undefined : node;
}

/** Paths of all ancestors: "2.1.4" gives "2" and "2.1". */
export function ancestors(path: string): string[] {
  const parts = path.split(".");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."));
}

export interface ByteRange {
  start: number;
  /** First byte after the range. */
  end: number;
}

/** Bytes of a field; undefined for a field without bytes of its own. */
export function rangeOf(node: FieldNode): ByteRange | undefined {
  if (node.length <= 0) return undefined;
  return { start: node.offset, end: node.offset + node.length };
}

/**
 * Paths of the deepest fields that cover a byte, in their order. Several where fields share a byte bit by bit.
 * A field of fewer bytes comes before a longer one of the same depth, so a gap never hides a field.
 */
export function deepestAt(root: FieldNode, offset: number): string[] {
  const found: { path: string; depth: number; length: number; order: number }[] = [];
  let order = 0;
  const walk = (nodes: readonly FieldNode[], prefix: string, depth: number): void => {
    for (const [index, node] of nodes.entries()) {
      const path = prefix === "" ? String(index) : `${prefix}.${index}`;
      if (node.length > 0 && offset >= node.offset && offset < node.offset + node.length) {
        found.push({ path, depth, length: node.length, order: order++ });
      }
      // Children may lie outside of a group that has no bytes of its own.
      walk(node.children ?? [], path, depth + 1);
    }
  };
  walk(root.children ?? [], "", 0);
  const parents = new Set(found.flatMap((hit) => ancestors(hit.path)));
  return found
    .filter((hit) => !parents.has(hit.path))
    .toSorted((a, b) => b.depth - a.depth || a.length - b.length || a.order - b.order)
    .map((hit) => hit.path);
}

/** The field to select when a byte is clicked: the deepest one, and at each further click the next that shares the byte. */
export function selectAt(root: FieldNode, offset: number, current: string | undefined): string | undefined {
  const paths = deepestAt(root, offset);
  const index = current === undefined ? -1 : paths.indexOf(current);
  return paths[(index + 1) % Math.max(1, paths.length)];
}

/** "byte 42", "bytes 42–45", "byte 43, bits 0–3 (0101)". Bits count from the most significant one. */
export function describeRange(node: FieldNode, bytes: Uint8Array): string {
  const range = rangeOf(node);
  if (!range) return "no bytes of its own";
  const last = range.end - 1;
  const where = range.start === last ? `byte ${range.start}` : `bytes ${range.start}–${last}`;
  if (node.bit_length === undefined || node.bit_length === node.length * 8) return where;
  const first = node.bit_offset ?? 0;
  const end = first + node.bit_length;
  const names = node.bit_length === 1 ? `bit ${first}` : `bits ${first}–${end - 1}`;
  const bits = Array.from(bytes.subarray(range.start, range.end), (byte) => byte.toString(2).padStart(8, "0")).join("");
  const value = bits.length >= end && node.bit_length <= 32 ? ` = ${bits.slice(first, end)}` : "";
  return `${where}, ${names}${value}`;
}

export function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** Printable ASCII, a dot for all else. */
export function asciiOf(byte: number): string {
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·";
}
