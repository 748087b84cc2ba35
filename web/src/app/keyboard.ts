import { useEffect, useEffectEvent } from "react";

/** True where keys are text, not commands. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable='true'], .cm-editor") !== null;
}

/** True while a dialog, a menu or a list of choices is open, which then has the keys. */
export function isOverlayOpen(): boolean {
  // Closed ones may stay in the document, hidden.
  const overlays = document.querySelectorAll("[role='dialog'], [role='menu'], [role='listbox']");
  return [...overlays].some((overlay) => overlay.checkVisibility());
}

const SEQUENCE_MS = 1_200;

export interface GlobalKeys {
  goCaptures: () => void;
  goAgents: () => void;
  goSql: () => void;
  toggleHelp: () => void;
}

/** Keys that work on every page: g c, g a, g s, ?, / and, for the list of the page, j and k. */
export function useGlobalKeys(keys: GlobalKeys): void {
  const act = useEffectEvent((key: string, afterG: boolean): boolean => {
    if (afterG && key === "c") keys.goCaptures();
    else if (afterG && key === "a") keys.goAgents();
    else if (afterG && key === "s") keys.goSql();
    else if (key === "?") keys.toggleHelp();
    else if (key === "/") return focusFilter();
    else if (key === "j" || key === "k" || key === "ArrowDown" || key === "ArrowUp") return focusList(key);
    else return false;
    return true;
  });
  useEffect(() => {
    let pressedG = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (isOverlayOpen() && event.key !== "?") return;
      const afterG = event.timeStamp - pressedG < SEQUENCE_MS;
      pressedG = event.key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (act(event.key, afterG)) event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

function focusFilter(): boolean {
  const input = document.querySelector<HTMLInputElement>("[data-filter]");
  if (!input) return false;
  input.focus();
  input.select();
  return true;
}

/** Hands the key to the main list of the page, so that nobody has to tab there first. */
function focusList(key: string): boolean {
  const list = document.querySelector<HTMLElement>("[data-main-list]");
  if (!list || (key.startsWith("Arrow") && document.activeElement !== document.body)) return false;
  list.focus({ preventScroll: true });
  list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  return true;
}
