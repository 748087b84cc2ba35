import { SegmentedControl, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { agentsQuery } from "../../api/queries";
import { SPANS, type ScopeState, type SpanLength } from "../../lib/viewState";
import classes from "./agents.module.css";
import { fromInput, toInput } from "./span";

const LABELS: Record<SpanLength, string> = { "10m": "10 min", "1h": "1 h", "6h": "6 h", "24h": "24 h", "7d": "7 d" };

function Moment({ label, value, onChange }: { label: string; value: string | undefined; onChange: (value: string | undefined) => void }) {
  const [typed, setTyped] = useState(toInput(value));
  const [seen, setSeen] = useState(value);
  if (seen !== value) {
    setSeen(value);
    setTyped(toInput(value));
  }
  return (
    <TextInput
      type="datetime-local"
      step={1}
      size="xs"
      aria-label={`${label}, UTC`}
      value={typed}
      onChange={(event) => {
        const next = event.currentTarget.value;
        setTyped(next);
        const moment = fromInput(next);
        if (moment !== undefined || next === "") onChange(moment);
      }}
    />
  );
}

interface Props {
  scope: ScopeState;
  onScope: (change: Partial<ScopeState>) => void;
  /** The agent is no choice: the page is of one. */
  ofAgent?: string;
}

/** Which agent and interface, and what time, a page is about. */
export function ScopeBar({ scope, onScope, ofAgent }: Props) {
  const { data } = useQuery(agentsQuery);
  const agents = data?.agents ?? [];
  const chosen = ofAgent ?? scope.agent;
  const names = [...new Set(agents.filter(({ id }) => chosen === undefined || id === chosen).flatMap((agent) => agent.interfaces.map(({ name }) => name)))].toSorted();
  if (scope.interface && !names.includes(scope.interface)) names.push(scope.interface);
  const known = agents.map(({ id, host }) => ({ value: id, label: host }));
  if (scope.agent && !known.some(({ value }) => value === scope.agent)) known.push({ value: scope.agent, label: scope.agent });
  return (
    <search className={classes.scope} aria-label="What is shown">
      {ofAgent === undefined && (
        <Select
          size="xs"
          aria-label="Agent"
          placeholder="All agents"
          data={known}
          value={scope.agent ?? null}
          onChange={(value) => onScope({ agent: value ?? undefined, interface: undefined })}
          searchable
          clearable
        />
      )}
      <Select
        size="xs"
        aria-label="Interface"
        placeholder="All interfaces"
        data={names}
        value={scope.interface ?? null}
        onChange={(value) => onScope({ interface: value ?? undefined })}
        clearable
      />
      <SegmentedControl
        size="xs"
        aria-label="Time that ends now"
        value={scope.from || scope.to ? "" : (scope.last ?? "10m")}
        onChange={(value) => onScope({ last: value === "10m" ? undefined : (value as SpanLength), from: undefined, to: undefined })}
        data={SPANS.map((value) => ({ value, label: LABELS[value] }))}
      />
      <span className={classes.moments}>
        <Moment label="From" value={scope.from} onChange={(from) => onScope({ from })} />
        <span className="muted">to</span>
        <Moment label="To" value={scope.to} onChange={(to) => onScope({ to })} />
        <span className="muted">UTC</span>
      </span>
    </search>
  );
}
