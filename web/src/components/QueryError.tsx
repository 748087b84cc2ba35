import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ApiError, messageOf } from "../api/client";
import { EmptyState } from "./EmptyState";

interface Props {
  error: unknown;
  what: string;
  onRetry: () => void;
}

/** A part of a page whose data could not be had. */
export function QueryError({ error, what, onRetry }: Props) {
  const gone = error instanceof ApiError && error.status === 404;
  return (
    <EmptyState title={gone ? `${what} is not here` : `${what} could not be loaded`} tone="bad">
      <p>{messageOf(error)}</p>
      {gone ? (
        <Link to="/">All captures</Link>
      ) : (
        <Button variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </EmptyState>
  );
}
