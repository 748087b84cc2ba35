import { useElementSize } from "@mantine/hooks";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { Group } from "@visx/group";
import { scaleLinear } from "@visx/scale";
import { Line } from "@visx/shape";
import { useMemo, useState, type KeyboardEvent } from "react";
import type { ConnectionPacket, DivergenceDetail, Surroundings } from "../../api/types";
import { formatDuration, formatHex } from "../../lib/format";
import { ARROWS, Head, pathColor, type ArrowStyle } from "./arrows";
import { labelOf, layOut, nameOf, type Rung } from "./ladder";
import classes from "./LadderDiagram.module.css";

const NARROW = 620;

function colorOf({ packet, kind }: ConnectionPacket): string {
  const own = ARROWS[kind].color;
  const path = packet.metaroce?.path_id;
  if (path !== undefined && kind !== "nak" && kind !== "rnr") return pathColor(path);
  return packet.flags.includes("retransmitted") ? "var(--rl-retransmitted)" : own;
}

interface ArrowProps {
  rung: Rung;
  x: [number, number];
  left: number;
  width: number;
  short: boolean;
  href: string;
  onOpen: () => void;
  onShow: (shown: boolean) => void;
}

function Arrow({ rung, x, left, width, short, href, onOpen, onShow }: ArrowProps) {
  const { packet: of, ends, y, since } = rung;
  const style: ArrowStyle = ARROWS[of.kind];
  const color = colorOf(of);
  const from = of.end === 1 ? 1 : 0;
  const to = 1 - from;
  const [start, tip] = [{ x: x[from] ?? 0, y: ends[from] ?? 0 }, { x: x[to] ?? 0, y: ends[to] ?? 0 }];
  const again = of.packet.flags.includes("retransmitted");
  const marked = of.packet.flags.includes("ce");
  const direction = Math.sign(tip.x - start.x);
  const angle = (Math.atan2(tip.y - start.y, tip.x - start.x) * 180) / Math.PI;
  return (
    <a
      href={href}
      className={classes.arrow}
      data-arrow=""
      data-number={of.packet.number}
      data-kind={of.kind}
      data-end={of.end ?? "none"}
      data-proof={of.proof ?? undefined}
      data-again={again || undefined}
      data-ce={marked || undefined}
      aria-label={nameOf(rung, short)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        onOpen();
      }}
      onMouseEnter={() => onShow(true)}
      onMouseLeave={() => onShow(false)}
      onFocus={() => onShow(true)}
      onBlur={() => onShow(false)}
    >
      <rect className={classes.row} x={0} y={y - 12} width={width} height={24} data-proof={of.proof ?? undefined} />
      <text className={classes.number} x={8} y={y + 4}>
        {of.packet.number}
      </text>
      {!short && since !== undefined && (
        <text className={classes.time} x={left - 14} y={y + 4} textAnchor="end">
          +{formatDuration(since)}
        </text>
      )}
      <Line from={start} to={tip} stroke={color} strokeWidth={style.width + (again ? 1 : 0)} strokeDasharray={style.dash} />
      {again && <Line from={{ x: start.x, y: start.y + 3.5 }} to={{ x: tip.x - direction * 12, y: tip.y + 3 }} stroke={color} strokeWidth={1} />}
      <Group transform={`translate(${tip.x} ${tip.y}) rotate(${angle})`}>
        <Head shape={style.head} color={color} />
      </Group>
      <circle cx={start.x} cy={start.y} r={2.5} fill={color} />
      {again && (
        <text className={classes.again} x={start.x + direction * 15} y={start.y + 4} textAnchor="middle">
          ↻
        </text>
      )}
      <text className={classes.label} x={(start.x + tip.x) / 2} y={(start.y + tip.y) / 2 - 4} textAnchor="middle">
        {labelOf(of, short)}
      </text>
      {marked && (
        <Group transform={`translate(${start.x + (tip.x - start.x) * 0.8} ${start.y + (tip.y - start.y) * 0.8})`}>
          <rect className={classes.mark} x={-10} y={-7} width={20} height={14} rx={2} />
          <text className={classes.markText} y={4} textAnchor="middle">
            CE
          </text>
        </Group>
      )}
      {of.proof !== null && (
        <Group transform={`translate(${width - 18} ${y})`}>
          <circle r={9} className={classes.proof} />
          <text className={classes.proofText} y={4} textAnchor="middle">
            {of.proof}
          </text>
        </Group>
      )}
    </a>
  );
}

/** Arrow keys walk from packet to packet. */
function walk(event: KeyboardEvent<SVGSVGElement>): void {
  const step = event.key === "ArrowDown" || event.key === "j" ? 1 : event.key === "ArrowUp" || event.key === "k" ? -1 : 0;
  if (step === 0) return;
  const arrows = [...event.currentTarget.querySelectorAll<SVGAElement>("[data-arrow]")];
  const next = arrows[Math.min(arrows.length - 1, Math.max(0, arrows.findIndex((arrow) => arrow === document.activeElement) + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  event.preventDefault();
  event.stopPropagation();
}

interface Props {
  captureId: string;
  detail: DivergenceDetail;
  surroundings: Surroundings;
}

/** The packets of a connection between its two ends, time down. */
export function LadderDiagram({ captureId, detail, surroundings }: Props) {
  const { ref, width: measured } = useElementSize();
  const navigate = useNavigate();
  const router = useRouter();
  const [shown, setShown] = useState<Rung>();
  const { ends, vantage, vantage_at: vantageAt } = detail;
  const ladder = useMemo(() => layOut(surroundings, vantageAt ?? 0.5), [surroundings, vantageAt]);
  const width = Math.max(300, measured);
  const short = width < NARROW;
  const left = short ? 56 : 158;
  const scale = scaleLinear<number>({ domain: [0, 1], range: [left, width - 48] });
  const x: [number, number] = [scale(0), scale(1)];
  const kinds = [...new Set(surroundings.packets.map(({ kind }) => kind))];
  const paths = [...new Set(surroundings.packets.flatMap(({ packet }) => packet.metaroce?.path_id ?? []))].toSorted((a, b) => a - b);
  const flagged = (flag: "retransmitted" | "ce") => surroundings.packets.some(({ packet }) => packet.flags.includes(flag));
  return (
    <figure className={classes.root} aria-label="Ladder diagram" data-arrows={ladder.rungs.length}>
      <figcaption className={classes.legend}>
        {kinds.map((kind) => (
          <span key={kind} className={classes.entry} data-legend={kind}>
            <svg width={34} height={12} aria-hidden>
              <Line from={{ x: 1, y: 6 }} to={{ x: 30, y: 6 }} stroke={paths.length > 0 && kind !== "nak" && kind !== "rnr" ? "var(--rl-muted)" : ARROWS[kind].color} strokeWidth={ARROWS[kind].width} strokeDasharray={ARROWS[kind].dash} />
              <Group transform="translate(32 6)">
                <Head shape={ARROWS[kind].head} color={paths.length > 0 && kind !== "nak" && kind !== "rnr" ? "var(--rl-muted)" : ARROWS[kind].color} />
              </Group>
            </svg>
            {ARROWS[kind].label}
          </span>
        ))}
        {flagged("retransmitted") && (
          <span className={classes.entry}>
            <span className={classes.againKey}>↻</span> sent again
          </span>
        )}
        {flagged("ce") && (
          <span className={classes.entry}>
            <span className={classes.ceKey}>CE</span> marked
          </span>
        )}
        {paths.map((path) => (
          <span key={path} className={classes.entry} data-path={path}>
            <span className={classes.swatch} style={{ background: pathColor(path) }} /> path {path}
          </span>
        ))}
      </figcaption>
      <div className={classes.scroll} ref={ref}>
        <div className={classes.ends} style={{ width, paddingLeft: 0 }}>
          {ends.map((end, index) => (
            <span key={`${end.address} ${end.qp}`} className={classes.end} style={index === 0 ? { left: Math.max(0, left - (short ? 40 : 70)) } : { right: 4 }}>
              <strong>{end.address}</strong>
              {end.qp !== null && <span className="muted"> {end.qp > 0xffffff || paths.length > 0 ? "id" : "QP"} {formatHex(end.qp)}</span>}
            </span>
          ))}
        </div>
        <svg width={width} height={ladder.height} className={classes.drawing} role="group" aria-label="Packets, time down" onKeyDown={walk}>
          {x.map((at) => (
            <Line key={at} className={`${classes.rail}`} from={{ x: at, y: 4 }} to={{ x: at, y: ladder.height - 8 }} />
          ))}
          {vantageAt !== null && (
            <g data-vantage={vantageAt}>
              <Line className={`${classes.vantage}`} from={{ x: scale(vantageAt), y: 4 }} to={{ x: scale(vantageAt), y: ladder.height - 8 }} />
              <text className={classes.vantageText} x={scale(vantageAt) + (vantageAt > 0.5 ? -6 : 6)} y={14} textAnchor={vantageAt > 0.5 ? "end" : "start"}>
                captured {vantage}
              </text>
            </g>
          )}
          {ladder.rungs.map((rung) => (
            <Arrow
              key={rung.packet.packet.number}
              rung={rung}
              x={x}
              left={left}
              width={width}
              short={short}
              href={router.buildLocation({ to: "/captures/$captureId/packets", params: { captureId }, search: { packet: rung.packet.packet.number } }).href}
              onOpen={() => void navigate({ to: "/captures/$captureId/packets", params: { captureId }, search: { packet: rung.packet.packet.number } })}
              onShow={(on) => setShown(on ? rung : undefined)}
            />
          ))}
          {ladder.breaks.map(({ y, text }) => (
            <g key={y} className={classes.break} data-break="">
              {x.map((at) => (
                <path key={at} d={`M${at - 5} ${y - 2} l10 -4 M${at - 5} ${y + 4} l10 -4`} />
              ))}
              <text x={(x[0] + x[1]) / 2} y={y + 4} textAnchor="middle">
                {text}
              </text>
            </g>
          ))}
        </svg>
      </div>
      <p className={classes.shown} role="status">
        {shown ? `${nameOf(shown, short)}. ${shown.packet.packet.info}` : <span className="muted">Point at a packet, or walk with the arrow keys; Enter opens it.</span>}
      </p>
    </figure>
  );
}
