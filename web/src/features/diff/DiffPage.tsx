import { Button, Skeleton } from "@mantine/core";
import { IconArrowsLeftRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Capture } from "../../api/types";
import { useCapture } from "../../api/useCapture";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import type { DiffState } from "../../lib/viewState";
import { CapturePicker } from "../compare/CapturePicker";
import { sameSides, swapped } from "./change";
import classes from "./DiffPage.module.css";
import { Figures } from "./Figures";
import { diffQuery } from "./query";
import { Rules } from "./Rules";
import { Side } from "./Side";

const route = getRouteApi("/diff");

interface ChooseProps {
  side: "a" | "b";
  state: DiffState;
  onState: (part: Partial<DiffState>) => void;
}

/** A list of captures for a side, by their likeness to the other side's. */
function Choose({ side, state, onState, other }: ChooseProps & { other?: Capture | undefined }) {
  const [filter, setFilter] = useState("");
  const flow = side === "a" ? state.flow_b : state.flow_a;
  return (
    <CapturePicker
      label={`Captures for side ${side.toUpperCase()}`}
      verb="Compare"
      capture={other}
      flowId={other && flow}
      withItself={flow !== undefined}
      filter={filter}
      onFilter={setFilter}
      onChoose={({ id }) => onState({ [side]: id, [`flow_${side}`]: undefined })}
    />
  );
}

function ChooseLike({ otherId, ...props }: ChooseProps & { otherId: string }) {
  const { data } = useCapture(otherId);
  return <Choose {...props} other={data} />;
}

function Compared({ state }: { state: DiffState & { a: string; b: string } }) {
  const { data, error, refetch, isPlaceholderData } = useQuery(diffQuery(state));
  if (error && !isPlaceholderData && !data) return <QueryError error={error} what="The comparison" onRetry={() => void refetch()} />;
  if (!data) return <Skeleton style={{ flex: 1 }} aria-label="Comparing" />;
  return (
    <div className={classes.compared} aria-busy={isPlaceholderData}>
      {data.notes.length > 0 && (
        <ul className={classes.notes} aria-label="What keeps the sides from being compared">
          {data.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <Figures figures={data.figures} />
      <Rules diff={data} />
    </div>
  );
}

/** Two captures or connections side by side. The address holds both. */
export function DiffPage() {
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const [choosing, setChoosing] = useState<"a" | "b">();
  const onState = (part: Partial<DiffState>) => {
    setChoosing(undefined);
    void navigate({ search: (previous: DiffState) => ({ ...previous, ...part }) });
  };
  const missing = state.a ? (state.b ? undefined : "b") : "a";
  const side = choosing ?? missing;
  const otherId = side === "a" ? state.b : state.a;
  const refused = sameSides(state);
  return (
    <Page
      documentTitle="Diff"
      title="Diff"
      crumbs={[{ label: "Captures" }]}
      aside={<span className="muted">two captures or two connections, side by side</span>}
      actions={
        <Button variant="default" leftSection={<IconArrowsLeftRight size={14} />} disabled={missing !== undefined} onClick={() => void navigate({ search: swapped(state) })}>
          Swap sides
        </Button>
      }
    >
      <div className={classes.sides}>
        <Side name="A" captureId={state.a} flowId={state.flow_a} choosing={side === "a"} onChange={() => setChoosing("a")} onFlow={(flow) => onState({ flow_a: flow })} />
        <Side name="B" captureId={state.b} flowId={state.flow_b} choosing={side === "b"} onChange={() => setChoosing("b")} onFlow={(flow) => onState({ flow_b: flow })} />
      </div>
      {side && (otherId ? <ChooseLike key={side} side={side} state={state} onState={onState} otherId={otherId} /> : <Choose key={side} side={side} state={state} onState={onState} />)}
      {!side && refused && (
        <EmptyState title="There is nothing to compare">
          <p>{refused}</p>
        </EmptyState>
      )}
      {!side && !refused && state.a && state.b && <Compared state={{ ...state, a: state.a, b: state.b }} />}
    </Page>
  );
}
