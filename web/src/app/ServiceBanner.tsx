import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { messageOf, onUnreachable, UnreachableError } from "../api/client";
import { serviceQuery } from "../api/queries";
import classes from "./Shell.module.css";

/** Says so while the service does not answer, and refreshes the page's data when it is back. */
export function ServiceBanner() {
  const queryClient = useQueryClient();
  const { error, isError } = useQuery(serviceQuery);
  const wasDown = useRef(false);
  useEffect(
    () =>
      onUnreachable(() => {
        const state = queryClient.getQueryState(serviceQuery.queryKey);
        // Its own silence is reported here too; asking again at once would never end.
        if (state?.status === "error" || state?.fetchStatus === "fetching") return;
        void queryClient.refetchQueries({ queryKey: serviceQuery.queryKey });
      }),
    [queryClient],
  );
  useEffect(() => {
    if (isError) {
      wasDown.current = true;
    } else if (wasDown.current) {
      wasDown.current = false;
      void queryClient.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "service" });
    }
  }, [isError, queryClient]);
  if (!isError) return null;
  const message =
    error instanceof UnreachableError
      ? "The service does not answer. What is shown may be out of date. Trying again every few seconds …"
      : `The service has a problem. ${messageOf(error)}`;
  return (
    <div className={classes.banner} role="alert">
      {message}
    </div>
  );
}
