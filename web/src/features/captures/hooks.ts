import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { client, messageOf, unwrap } from "../../api/client";
import { captureKeys, captureQuery, isRunning } from "../../api/queries";
import type { Capture } from "../../api/types";
import { uploads, type UploadsState } from "./uploads";

export function useUploads(): UploadsState {
  return useSyncExternalStore(uploads.subscribe, uploads.getState);
}

/** A capture of the list, followed closely only while its analysis runs. */
export function useLiveCapture(capture: Capture): Capture {
  const queryClient = useQueryClient();
  const running = isRunning(capture);
  const { data } = useQuery({ ...captureQuery(capture.id), enabled: running });
  const ended = running && data !== undefined && !isRunning(data);
  useEffect(() => {
    if (ended) void queryClient.invalidateQueries({ queryKey: captureKeys.list });
  }, [ended, queryClient]);
  return running && data ? data : capture;
}

/** Forgets what was read of a capture once its analysis ended, since other rows are there now. */
export function useRefreshAfterAnalysis(capture: Capture | undefined): void {
  const queryClient = useQueryClient();
  const running = isRunning(capture);
  const wasRunning = useRef(running);
  const id = capture?.id;
  useEffect(() => {
    if (wasRunning.current && !running && id) {
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[1] === id || queryKey[0] === "query" || queryKey[1] === "list",
      });
    }
    wasRunning.current = running;
  }, [running, id, queryClient]);
}

function complain(what: string) {
  return (error: unknown) => notifications.show({ color: "red", title: what, message: messageOf(error), autoClose: 8_000 });
}

export function useCancelAnalysis() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(client.POST("/captures/{capture_id}/cancel", { params: { path: { capture_id: id } } })),
    onSuccess: (capture) => {
      queryClient.setQueryData(captureQuery(capture.id).queryKey, capture);
      return queryClient.invalidateQueries({ queryKey: captureKeys.all });
    },
    onError: complain("The analysis could not be stopped"),
  });
}

export function useAnalyzeAgain() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(client.POST("/captures/{capture_id}/analyze", { params: { path: { capture_id: id } } })),
    onSuccess: (capture) => {
      queryClient.setQueryData(captureQuery(capture.id).queryKey, capture);
      return queryClient.invalidateQueries({ queryKey: captureKeys.all });
    },
    onError: complain("The analysis could not be started"),
  });
}

export function useDeleteCapture() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(client.DELETE("/captures/{capture_id}", { params: { path: { capture_id: id } } })),
    onSuccess: (_, id) => {
      uploads.forget(id);
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[1] === id || queryKey[2] === id });
      return queryClient.invalidateQueries({ queryKey: captureKeys.list });
    },
    onError: complain("The capture could not be deleted"),
  });
}
