import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { agentQuery } from "../../api/queries";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import type { AgentCountersState } from "../../lib/viewState";
import classes from "./agents.module.css";
import { AgentsNav } from "./AgentsNav";
import { Bypassed } from "./Bypassed";
import { CountersPanel } from "./CountersPanel";
import { LedgerNote } from "./LedgerNote";
import { portCountersQuery } from "./query";
import { ScopeBar } from "./ScopeBar";

const route = getRouteApi("/agents/$agentId/counters");

/** What NIC, driver and kernel counted beside the packets of an agent's interfaces. */
export function AgentCountersPage() {
  const { agentId } = route.useParams();
  const scope = route.useSearch();
  const navigate = route.useNavigate();
  const agent = useQuery({ ...agentQuery(agentId, 1), refetchInterval: 10_000 });
  const { data, error, refetch } = useQuery(portCountersQuery(agentId, scope));
  const host = agent.data?.agent.host ?? "Agent";
  const interfaces = agent.data?.agent.interfaces ?? [];
  const names = scope.interface ? [scope.interface] : [...new Set([...interfaces.map(({ name }) => name), ...(data?.counters ?? []).map((counter) => counter.interface)])];
  return (
    <Page
      documentTitle={`Counters of ${host}`}
      title="Counters"
      crumbs={[{ label: "Agents", to: "/agents" }, { label: host, agentId }]}
      actions={<AgentsNav scope={{ ...scope, agent: agentId }} />}
    >
      <ScopeBar
        scope={scope}
        ofAgent={agentId}
        onScope={(change) => void navigate({ search: (previous: AgentCountersState) => ({ ...previous, ...change }), replace: true })}
      />
      {error && !data && <QueryError error={error} what="The counters" onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton style={{ flex: 1 }} />}
      {data && (
        <div className={classes.sections}>
          <LedgerNote ledger={data.ledger} />
          {names.map((name) => {
            const known = interfaces.find((one) => one.name === name);
            return (
              <section key={name} className={classes.panel} aria-label={`Interface ${name}`}>
                <div className={classes.panelHead}>
                  <h2 className={classes.panelTitle}>{name}</h2>
                  {known?.rdma && <span className="muted">{known.rdma}</span>}
                  <Link to="/agents/flows" search={{ ...scope, agent: agentId, interface: name }}>
                    Flows of this time
                  </Link>
                </div>
                <Bypassed of={known} />
                <CountersPanel agentId={agentId} name={name} rdma={known?.rdma ?? ""} counters={data.counters.filter((counter) => counter.interface === name)} scope={scope} />
              </section>
            );
          })}
        </div>
      )}
    </Page>
  );
}
