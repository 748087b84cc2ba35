import { Button, Loader } from "@mantine/core";
import { Link, useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { messageOf } from "../api/client";
import { EmptyState } from "../components/EmptyState";
import { Page } from "../components/Page";

export function NotFound() {
  return (
    <Page documentTitle="Not found" title="Not found">
      <EmptyState title="There is no such page">
        <p>The address may be mistyped, or what it showed was deleted.</p>
        <Link to="/">All captures</Link>
      </EmptyState>
    </Page>
  );
}

/** Shown in place of a page whose program failed; the rest of the console stays usable. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  return (
    <Page documentTitle="Failed" title="Failed">
      <EmptyState title="This page failed" tone="bad">
        <p>{messageOf(error)}</p>
        <Button
          variant="default"
          onClick={() => {
            reset();
            void router.invalidate();
          }}
        >
          Try again
        </Button>
      </EmptyState>
    </Page>
  );
}

export function PagePending() {
  return (
    <EmptyState title="">
      <Loader size="sm" aria-label="Loading" />
    </EmptyState>
  );
}
