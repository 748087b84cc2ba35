import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";

const REMEMBERED = 20;

/**
 * A value that changes at once while the address follows a moment later: browsers limit how often an address may
 * change, and fingers are faster. A change of the address from elsewhere (back, a link) replaces the draft.
 */
export function useDraft<T>(
  value: T,
  keyOf: (value: T) => string,
  write: (value: T) => void,
  delayMs: number,
): [T, (value: T) => void] {
  const key = keyOf(value);
  const [draft, setDraft] = useState(value);
  const [seen, setSeen] = useState(key);
  // Own changes come back late, when the draft may be further; they must not set it back.
  const [written, setWritten] = useState<readonly string[]>([]);
  if (seen !== key) {
    setSeen(key);
    if (!written.includes(key)) setDraft(value);
  }
  const later = useDebouncedCallback((next: T) => {
    setWritten((keys) => [...keys.slice(1 - REMEMBERED), keyOf(next)]);
    write(next);
  }, delayMs);
  const change = (next: T) => {
    setDraft(next);
    later(next);
  };
  return [draft, change];
}
