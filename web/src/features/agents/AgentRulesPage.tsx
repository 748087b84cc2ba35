import { Skeleton } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { AgentDivergence, AgentLedger, Rule } from "../../api/types";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { formatCount } from "../../lib/format";
import { formatDateTime } from "../../lib/time";
import type { AgentRulesState, FoundVerdict, ScopeState } from "../../lib/viewState";
import { Place, PlacesOfRule } from "../replay/Places";
import panes from "../replay/ReplayPage.module.css";
import { RulesTable } from "../replay/RulesTable";
import { AgentsNav } from "./AgentsNav";
import { LedgerNote } from "./LedgerNote";
import { agentDivergencesQuery, agentRulesQuery } from "./query";
import { ScopeBar } from "./ScopeBar";
import { toMoment } from "./span";

const route = getRouteApi("/agents/divergences");
const CRUMBS = [{ label: "Agents", to: "/agents" }] as const;

function PlaceOfAgent({ found }: { found: AgentDivergence }) {
  const { divergence: place, agent_id: agent, host, interface: name, interval_start: from, interval_end: to, missed } = found;
  const around: ScopeState = { agent, interface: name, from: toMoment(from), to: toMoment(to) };
  return (
    <Place
      place={place}
      where={
        <span className="muted">
          seen by{" "}
          <Link to="/agents/$agentId" params={{ agentId: agent }}>
            {host}
          </Link>{" "}
          on {name}, {formatDateTime(to)} UTC
        </span>
      }
      proof={place.packets.length === 0 ? "none" : `${place.packets.length === 1 ? "packet" : "packets"} ${place.packets.map(formatCount).join(", ")} of ${name}, counted from the agent's start`}
      actions={
        <>
          <Link to="/agents/flows" search={around}>
            Flows of that time
          </Link>
          <Link to="/agents/events" search={{ agent }}>
            Records of this agent
          </Link>
          {missed > 0 && <span className="muted">the capture lost {formatCount(missed)} packets in that interval</span>}
        </>
      }
    />
  );
}

interface PlacesProps {
  scope: ScopeState;
  rule: Rule;
  verdict: FoundVerdict | undefined;
  onVerdict: (verdict: FoundVerdict | undefined) => void;
  ledger: AgentLedger;
}

function Places({ scope, ledger, ...props }: PlacesProps) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(agentDivergencesQuery(scope, props.rule.rule, props.verdict));
  return (
    <PlacesOfRule
      {...props}
      places={data?.pages.flatMap(({ divergences }) => divergences).map((found) => <PlaceOfAgent key={found.divergence.id} found={found} />)}
      total={data?.pages[0]?.total ?? 0}
      error={error}
      onRetry={() => void refetch()}
      onMore={hasNextPage ? () => void fetchNextPage() : undefined}
      fetchingMore={isFetchingNextPage}
      rest={ledger.untold > 0 && `${formatCount(ledger.untold)} more were counted, of all rules; of one rule, connection and interval at most 16 are told of.`}
    />
  );
}

function Nothing({ ledger }: { ledger: AgentLedger }) {
  if (ledger.judged === null) {
    return (
      <EmptyState title="Nothing was judged in this time">
        <p>
          An agent holds connections against the reference transports when it runs with <code>--replay</code>.
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No divergence in this time">
      <p>{formatCount(ledger.judged)} packets were held against the reference transports.</p>
    </EmptyState>
  );
}

/** Where connections that agents watch diverge from the reference transport, by rule, and each place. */
export function AgentRulesPage() {
  const state = route.useSearch();
  const { rule: chosen, verdict, ...scope } = state;
  const navigate = route.useNavigate();
  const { data, error, refetch } = useQuery(agentRulesQuery(scope));
  const change = (part: Partial<AgentRulesState>) => void navigate({ search: (previous: AgentRulesState) => ({ ...previous, ...part }), replace: true });
  const open = data?.rules.find(({ rule }) => rule === chosen) ?? data?.rules[0];
  return (
    <Page documentTitle="Divergences of agents" title="Divergences" crumbs={CRUMBS} actions={<AgentsNav scope={scope} />}>
      <ScopeBar scope={scope} onScope={change} />
      {error && !data && <QueryError error={error} what="The divergences" onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton style={{ flex: 1 }} />}
      {data && <LedgerNote ledger={data.ledger} />}
      {data && !open && <Nothing ledger={data.ledger} />}
      {data && open && (
        <div className={panes.panes}>
          <RulesTable rules={data.rules} open={open.rule} onOpen={(rule) => change({ rule, verdict: undefined })} />
          <Places scope={scope} rule={open} verdict={verdict} onVerdict={(value) => change({ rule: open.rule, verdict: value })} ledger={data.ledger} />
        </div>
      )}
    </Page>
  );
}
