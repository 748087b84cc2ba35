import { Button, Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { flowQuery, flowsPageQuery } from "../../api/queries";
import type { Flow } from "../../api/types";
import { useCapture } from "../../api/useCapture";
import { countOf, formatHex } from "../../lib/format";
import classes from "./DiffPage.module.css";

const MOST = 50;
const TYPING_MS = 200;
const WHOLE = "";

const nameOf = ({ source, source_qp, destination, destination_qp }: Flow): string => `${source}${source_qp === null ? "" : ` ${formatHex(source_qp)}`} → ${destination} ${formatHex(destination_qp)}`;

/** Narrows a side to the connection of a flow. Typing looks through all flows of the capture. */
function Connection({ name, captureId, flowId, onFlow }: { name: string; captureId: string; flowId: string | undefined; onFlow: (flow: string | undefined) => void }) {
  const [typed, setTyped] = useState("");
  const chosen = useQuery({ ...flowQuery(captureId, flowId ?? ""), enabled: flowId !== undefined });
  const label = chosen.data ? nameOf(chosen.data) : flowId === undefined ? "" : `flow ${flowId}`;
  // The text of what is chosen is no filter.
  const [filter] = useDebouncedValue(typed === label || typed === "The whole capture" ? "" : typed.replaceAll("→", " ").trim(), TYPING_MS);
  const flows = useQuery(flowsPageQuery(captureId, { sort: "bytes", order: "desc", filter }, 0));
  const found = (flows.data?.flows ?? []).slice(0, MOST).map((flow) => ({ value: flow.id, label: nameOf(flow) }));
  const data = [{ value: WHOLE, label: "The whole capture" }, ...found];
  if (flowId !== undefined && !found.some(({ value }) => value === flowId)) data.push({ value: flowId, label });
  return (
    <Select
      aria-label={`Connection of side ${name}`}
      searchable
      allowDeselect={false}
      value={flowId ?? WHOLE}
      onChange={(value) => onFlow(value || undefined)}
      onSearchChange={setTyped}
      filter={({ options }) => options}
      data={data}
      maxDropdownHeight={320}
      className={classes.connection}
      nothingFoundMessage="No flow matches"
    />
  );
}

interface Props {
  name: "A" | "B";
  captureId: string | undefined;
  flowId: string | undefined;
  /** Whether its capture is being chosen below. */
  choosing: boolean;
  onChange: () => void;
  onFlow: (flow: string | undefined) => void;
}

function Chosen({ name, captureId, flowId, onChange, onFlow }: Omit<Props, "captureId" | "choosing"> & { captureId: string }) {
  const { data: capture, error } = useCapture(captureId);
  return (
    <>
      <span className={classes.capture}>
        {capture ? (
          <Link to="/captures/$captureId" params={{ captureId }}>
            {capture.name}
          </Link>
        ) : (
          <span className="muted">{error ? "This capture is not here" : ""}</span>
        )}
        {capture?.totals && <span className="muted">{countOf(capture.totals.packets, "packet")}</span>}
      </span>
      {capture?.analyzed && <Connection key={captureId} name={name} captureId={captureId} flowId={flowId} onFlow={onFlow} />}
      <Button variant="default" onClick={onChange} aria-label={`Change the capture of side ${name}`}>
        Change
      </Button>
    </>
  );
}

/** One side: its capture, and the connection if it is only one. */
export function Side({ choosing, captureId, ...props }: Props) {
  return (
    <section className={classes.side} aria-label={`Side ${props.name}`} data-choosing={choosing || undefined}>
      <strong className={classes.letter}>{props.name}</strong>
      {captureId === undefined ? <span className="muted">Choose a capture below.</span> : <Chosen captureId={captureId} {...props} />}
    </section>
  );
}
