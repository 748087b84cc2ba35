import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type KeyboardEvent, type MouseEvent } from "react";
import { asciiOf, type ByteRange } from "../../lib/fieldTree";
import classes from "./HexDump.module.css";

const ROW_HEIGHT = 20;

interface Props {
  perRow: 8 | 16;
  bytes: Uint8Array;
  range: ByteRange | undefined;
  onSelectByte: (offset: number) => void;
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

function Row({ bytes, start, perRow, range }: { bytes: Uint8Array; start: number; perRow: number; range: ByteRange | undefined }) {
  const row = bytes.subarray(start, start + perRow);
  const marked = (offset: number): "" | undefined => (range && offset >= range.start && offset < range.end ? "" : undefined);
  return (
    <>
      <span className={classes.offset}>{start.toString(16).padStart(4, "0")}</span>
      <span className={classes.hex} data-per-row={perRow}>
        {Array.from(row, (byte, index) => (
          <span key={index} className={classes.byte} data-offset={start + index} data-marked={marked(start + index)} data-joined={marked(start + index + 1)}>
            {hex(byte)}
          </span>
        ))}
      </span>
      <span className={classes.ascii}>
        {Array.from(row, (byte, index) => (
          <span key={index} data-offset={start + index} data-marked={marked(start + index)}>
            {asciiOf(byte)}
          </span>
        ))}
      </span>
    </>
  );
}

/** All captured bytes, in hex and ASCII; those of the selected field are marked. Arrow keys move by bytes and rows. */
export function HexDump({ perRow, bytes, range, onSelectByte }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const cursor = useRef(0);
  const virtualizer = useVirtualizer({
    count: Math.ceil(bytes.length / perRow),
    getScrollElement: () => root.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20,
    paddingStart: 6,
    paddingEnd: 6,
  });
  const start = range?.start;
  useEffect(() => {
    if (start === undefined) return;
    if (!range || cursor.current < range.start || cursor.current >= range.end) cursor.current = start;
    virtualizer.scrollToIndex(Math.floor(cursor.current / perRow), { align: "auto" });
  }, [start, range, perRow, virtualizer]);

  const select = (offset: number) => {
    cursor.current = Math.max(0, Math.min(bytes.length - 1, offset));
    onSelectByte(cursor.current);
  };
  const onClick = (event: MouseEvent<HTMLDivElement>) => {
    const offset = (event.target as HTMLElement).dataset["offset"];
    if (offset !== undefined) select(Number(offset));
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    select(cursor.current + step);
  };
  return (
    <div
      ref={root}
      className={classes.dump}
      role="application"
      aria-label={`${bytes.length} bytes. Arrow keys move from byte to byte and select its field`}
      tabIndex={0}
      onClick={onClick}
      onKeyDown={onKeyDown}
    >
      <div style={{ position: "relative", height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map((item) => (
          <div key={item.key} className={classes.row} style={{ transform: `translateY(${item.start}px)`, height: ROW_HEIGHT }}>
            <Row bytes={bytes} start={item.index * perRow} perRow={perRow} range={range} />
          </div>
        ))}
      </div>
    </div>
  );
}
