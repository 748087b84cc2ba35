import createClient from "openapi-fetch";
import type { paths } from "./schema.gen";
import type { Problem } from "./types";

export const API_BASE = "/api/v1";

/** What the service refused, in its words. */
export class ApiError extends Error {
  readonly status: number;
  readonly title: string;
  readonly detail: string | undefined;
  /** ClickHouse's error code. */
  readonly code: number | undefined;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.name = "ApiError";
    this.status = problem.status;
    this.title = problem.title;
    this.detail = problem.detail;
    this.code = problem.code;
  }
}

/** The service did not answer at all. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super("The service does not answer.", { cause });
    this.name = "UnreachableError";
  }
}

const unreachableListeners = new Set<() => void>();

/** Calls back each time a request got no answer. */
export function onUnreachable(listener: () => void): () => void {
  unreachableListeners.add(listener);
  return () => unreachableListeners.delete(listener);
}

/** fetch that tells apart "no answer" and "cancelled"; gateways that stand in for a dead service count as no answer. */
async function reach(request: Request): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    for (const listener of unreachableListeners) listener();
    throw new UnreachableError(error);
  }
  if (response.status === 502 || response.status === 504) {
    for (const listener of unreachableListeners) listener();
    throw new UnreachableError(new Error(`status ${response.status}`));
  }
  return response;
}

export const client = createClient<paths>({ baseUrl: API_BASE, fetch: reach });

/** Problem of an answer's body, whatever its form. */
export function problemOf(body: unknown, status: number): Problem {
  let value = body;
  if (typeof value === "string") {
    try {
      value = JSON.parse(value);
    } catch {
      return { type: "about:blank", title: `The service answered with status ${status}`, status };
    }
  }
  if (typeof value === "object" && value !== null && "title" in value && typeof value.title === "string") {
    return { ...(value as Partial<Problem>), type: "about:blank", title: value.title, status };
  }
  return { type: "about:blank", title: `The service answered with status ${status}`, status };
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of an answer, or an ApiError. */
export async function unwrap<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw new ApiError(problemOf(error, response.status));
  return data as T;
}

/** Sentence for any error. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    return error.detail && error.detail !== error.title ? `${error.title}: ${error.detail}` : error.title;
  }
  return error instanceof Error ? error.message : String(error);
}
