/** Which columns differ from the usual ones: "+acks,-service". The order does not matter. */

export function hiddenColumns(all: readonly string[], usual: ReadonlySet<string>, changes: string | undefined): Set<string> {
  const hidden = new Set(usual);
  for (const change of changes?.split(",") ?? []) {
    const id = change.slice(1);
    if (!all.includes(id)) continue;
    if (change.startsWith("+")) hidden.delete(id);
    else hidden.add(id);
  }
  return hidden;
}

export function columnChanges(hidden: ReadonlySet<string>, all: readonly string[], usual: ReadonlySet<string>): string | undefined {
  const changes = all.filter((id) => hidden.has(id) !== usual.has(id)).map((id) => (hidden.has(id) ? `-${id}` : `+${id}`));
  return changes.length > 0 ? changes.join(",") : undefined;
}
