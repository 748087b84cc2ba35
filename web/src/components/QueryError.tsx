import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ApiError, messageOf } from "../api/client";
import { EmptyState } from "./EmptyState";
import { isGone } from "../api/useCapture";

interface Props {
  error: unknown;
  what: string;
  onRetry: () => void;
  /** Takes back the filter, where one was sent along and may be what was refused. */
  onClearFilter?: (() => void) | undefined;
}

/** A part of a page whose data could not be had. */
export function QueryError({ error, what, onRetry, onClearFilter }: Props) {
  const gone = isGone(error);
  if (onClearFilter && error instanceof ApiError && error.status === 400) {
    return (
      <EmptyState title="This filter is not understood">
        <p role="status">{error.detail ?? error.title}</p>
        <Button variant="default" onClick={onClearFilter}>
          Clear the filter
        </Button>
      </EmptyState>
    );
  }
  // The same request would be refused again.
  const hopeless = gone || (error instanceof ApiError && error.status === 400);
  return (
    <EmptyState title={gone ? `${what} is not here` : `${what} could not be loaded`} tone="bad">
      <p>{messageOf(error)}</p>
      {hopeless ? (
        <Link to="/">All captures</Link>
      ) : (
        <Button variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </EmptyState>
  );
}
