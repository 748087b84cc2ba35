import { useQuery } from "@tanstack/react-query";
import { ApiError } from "./client";
import { captureQuery } from "./queries";

export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/**
 * A capture while its page is open. What was read stays while the service is away, but not once the capture has been
 * deleted, which others may do at any time.
 */
export function useCapture(id: string) {
  const { data, error, refetch } = useQuery(captureQuery(id));
  const capture = isGone(error) ? undefined : data;
  return { data: capture, error: capture ? null : error, refetch };
}
