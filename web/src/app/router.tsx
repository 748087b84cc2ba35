import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { CapturesPage } from "../features/captures/CapturesPage";
import { decodeState, formatQuery, parseQuery } from "../lib/urlState";
import { agentCountersSchema, agentFlowsSchema, agentRulesSchema, captureSchema, capturesSchema, diffSchema, divergenceSchema, mergeSchema, packetsSchema, pathsSchema, querySchema, replaySchema, scopeSchema, secondSchema, sequenceSchema, streamsSchema } from "../lib/viewState";
import { NotFound, PageError, PagePending } from "./PageStates";
import { Shell } from "./Shell";

interface Context {
  queryClient: QueryClient;
}

const rootRoute = createRootRouteWithContext<Context>()({ component: Shell, notFoundComponent: NotFound });

const capturesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  validateSearch: (raw) => decodeState(capturesSchema, raw),
  component: CapturesPage,
});

const captureRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId",
  validateSearch: (raw) => decodeState(captureSchema, raw),
  component: lazyRouteComponent(() => import("../features/flows/CapturePage"), "CapturePage"),
});

const packetsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/packets",
  validateSearch: (raw) => decodeState(packetsSchema, raw),
  component: lazyRouteComponent(() => import("../features/packets/PacketsPage"), "PacketsPage"),
});

const flowRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/flows/$flowId",
  validateSearch: (raw) => decodeState(packetsSchema, raw),
  component: lazyRouteComponent(() => import("../features/packets/FlowPage"), "FlowPage"),
});

const pathsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/paths",
  validateSearch: (raw) => decodeState(pathsSchema, raw),
  component: lazyRouteComponent(() => import("../features/metaroce/PathsPage"), "PathsPage"),
});

const streamsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/streams",
  validateSearch: (raw) => decodeState(streamsSchema, raw),
  component: lazyRouteComponent(() => import("../features/metaroce/StreamsPage"), "StreamsPage"),
});

const replayRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/replay",
  validateSearch: (raw) => decodeState(replaySchema, raw),
  component: lazyRouteComponent(() => import("../features/replay/ReplayPage"), "ReplayPage"),
});

const divergenceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/replay/$divergenceId",
  validateSearch: (raw) => decodeState(divergenceSchema, raw),
  component: lazyRouteComponent(() => import("../features/replay/DivergencePage"), "DivergencePage"),
});

const secondRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/merge",
  validateSearch: (raw) => decodeState(secondSchema, raw),
  component: lazyRouteComponent(() => import("../features/merge/SecondPage"), "SecondPage"),
});

const mergeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/merge/$withId",
  validateSearch: (raw) => decodeState(mergeSchema, raw),
  component: lazyRouteComponent(() => import("../features/merge/MergePage"), "MergePage"),
});

const diffRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/diff",
  validateSearch: (raw) => decodeState(diffSchema, raw),
  component: lazyRouteComponent(() => import("../features/diff/DiffPage"), "DiffPage"),
});

const flowPathsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/flows/$flowId/paths",
  validateSearch: (raw) => decodeState(pathsSchema, raw),
  component: lazyRouteComponent(() => import("../features/metaroce/FlowPathsPage"), "FlowPathsPage"),
});

const flowStreamsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/flows/$flowId/streams",
  validateSearch: (raw) => decodeState(streamsSchema, raw),
  component: lazyRouteComponent(() => import("../features/metaroce/FlowStreamsPage"), "FlowStreamsPage"),
});

const flowSequenceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/captures/$captureId/flows/$flowId/sequence",
  validateSearch: (raw) => decodeState(sequenceSchema, raw),
  component: lazyRouteComponent(() => import("../features/sequence/SequencePage"), "SequencePage"),
});

const agentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/agents",
  component: lazyRouteComponent(() => import("../features/agents/AgentsPage"), "AgentsPage"),
});

const agentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/agents/$agentId",
  component: lazyRouteComponent(() => import("../features/agents/AgentPage"), "AgentPage"),
});

const agentFlowsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/agents/flows",
  validateSearch: (raw) => decodeState(agentFlowsSchema, raw),
  component: lazyRouteComponent(() => import("../features/agents/AgentFlowsPage"), "AgentFlowsPage"),
});

const agentRulesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/agents/divergences",
  validateSearch: (raw) => decodeState(agentRulesSchema, raw),
  component: lazyRouteComponent(() => import("../features/agents/AgentRulesPage"), "AgentRulesPage"),
});

const agentEventsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/agents/events",
  validateSearch: (raw) => decodeState(scopeSchema, raw),
  component: lazyRouteComponent(() => import("../features/agents/AgentEventsPage"), "AgentEventsPage"),
});

const agentCountersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/agents/$agentId/counters",
  validateSearch: (raw) => decodeState(agentCountersSchema, raw),
  component: lazyRouteComponent(() => import("../features/agents/AgentCountersPage"), "AgentCountersPage"),
});

const queryRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sql",
  validateSearch: (raw) => decodeState(querySchema, raw),
  component: lazyRouteComponent(() => import("../features/query/QueryPage"), "QueryPage"),
});

const routeTree = rootRoute.addChildren([
  capturesRoute,
  captureRoute,
  packetsRoute,
  pathsRoute,
  streamsRoute,
  replayRoute,
  divergenceRoute,
  secondRoute,
  mergeRoute,
  diffRoute,
  flowRoute,
  flowPathsRoute,
  flowStreamsRoute,
  flowSequenceRoute,
  agentsRoute,
  agentRoute,
  agentFlowsRoute,
  agentRulesRoute,
  agentEventsRoute,
  agentCountersRoute,
  queryRoute,
]);

export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    parseSearch: parseQuery,
    stringifySearch: formatQuery,
    defaultErrorComponent: PageError,
    defaultPendingComponent: PagePending,
    defaultPreload: "intent",
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
