import { Button, TextInput } from "@mantine/core";
import { IconFileUpload, IconSearch, IconUpload } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { captureKeys, capturesQuery, serviceQuery } from "../../api/queries";
import type { Capture } from "../../api/types";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { useNarrow } from "../../components/useNarrow";
import { useDraft } from "../../components/useDraft";
import { countOf, formatCount, formatFileSize } from "../../lib/format";
import { captureColumns } from "./captureColumns";
import classes from "./CapturesPage.module.css";
import { DeleteDialog } from "./DeleteDialog";
import { useUploads } from "./hooks";
import { UploadList } from "./UploadList";
import { uploads } from "./uploads";
import { useDropZone } from "./useDropZone";

const route = getRouteApi("/");
const FILTER_DELAY_MS = 120;
/** In a narrow window the troubles of a capture matter more than its sizes. */
const NARROW_HIDDEN: ReadonlySet<string> = new Set(["size", "packets", "rdma", "flows"]);
const NONE_HIDDEN: ReadonlySet<string> = new Set();

const FORMATS = "pcap and pcapng, plain or compressed with gzip, zstd or xz";

function NoCaptures({ onChoose }: { onChoose: () => void }) {
  const { data: service } = useQuery(serviceQuery);
  return (
    <EmptyState title="Drop a capture to see who talked" icon={<IconFileUpload size={40} stroke={1.2} className={classes.dropIcon} />}>
      <p>
        Drop one or several files anywhere on this page: {FORMATS}
        {service?.max_upload_bytes ? `, up to ${formatFileSize(service.max_upload_bytes)} each` : ""}.
      </p>
      <Button leftSection={<IconUpload size={14} />} onClick={onChoose} size="sm">
        Choose files
      </Button>
      <p className={classes.hint}>
        Without the browser: <code>rocelens analyze FILE</code> prints the same findings.
      </p>
    </EmptyState>
  );
}

/** All captures, and the way to add more. */
export function CapturesPage() {
  const { filter = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useDraft(
    filter,
    String,
    (value) => void navigate({ search: { filter: value || undefined }, replace: true }),
    FILTER_DELAY_MS,
  );
  const queryClient = useQueryClient();
  const { items: uploadItems, unfinished } = useUploads();
  const [active, setActive] = useState<number>();
  const [deleting, setDeleting] = useState<Capture>();
  const input = useRef<HTMLInputElement>(null);
  const over = useDropZone((files) => uploads.add(files));
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(capturesQuery);

  useEffect(() => {
    uploads.onStored = () => void queryClient.invalidateQueries({ queryKey: captureKeys.list });
    const abort = new AbortController();
    void uploads.findUnfinished(abort.signal);
    return () => abort.abort();
  }, [queryClient]);

  // The filter is over the whole list, so the rest of it is fetched page by page.
  const incomplete = typed.trim() !== "" && hasNextPage && !error;
  useEffect(() => {
    if (incomplete && !isFetchingNextPage) void fetchNextPage();
  }, [incomplete, isFetchingNextPage, fetchNextPage]);

  const rows = useMemo(() => {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    return (data ?? [])
      .filter((capture) => words.every((word) => `${capture.name} ${capture.status}`.toLowerCase().includes(word)))
      .map((value, index) => ({ index, value }));
  }, [data, typed]);
  const narrow = useNarrow();
  const columns = useMemo(() => captureColumns(setDeleting, narrow), [narrow]);
  const choose = () => input.current?.click();
  const open = (capture: Capture) => void navigate({ to: "/captures/$captureId", params: { captureId: capture.id } });

  return (
    <Page
      documentTitle="Captures"
      title="Captures"
      aside={
        data &&
        data.length > 0 && (
          <span className="muted" role="status">
            {typed.trim() !== "" && `${formatCount(rows.length)} of `}
            {countOf(data.length, "capture")}
            {hasNextPage ? " and more" : ""}
          </span>
        )
      }
      actions={
        <>
          <TextInput
            aria-label="Filter captures by name or status"
            placeholder="Filter by name or status"
            leftSection={<IconSearch size={14} />}
            value={typed}
            data-filter
            onChange={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
            }}
            className={classes.filter}
          />
          <Button leftSection={<IconUpload size={14} />} onClick={choose}>
            Upload
          </Button>
        </>
      }
    >
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Capture files"
        onChange={(event) => {
          uploads.add([...(event.currentTarget.files ?? [])]);
          // The same file may be chosen again.
          event.currentTarget.value = "";
        }}
      />
      <UploadList items={uploadItems} unfinished={unfinished} onChoose={choose} />
      {error && !data ? (
        <QueryError error={error} what="The list of captures" onRetry={() => void refetch()} />
      ) : (
        <DataTable
          main
          label="Captures"
          className={classes.table}
          columns={columns}
          hidden={narrow ? NARROW_HIDDEN : NONE_HIDDEN}
          items={rows}
          rowCount={isPending ? 4 : rows.length}
          rowHeight={44}
          active={active}
          onActive={setActive}
          onOpen={open}
          openOnClick
          busy={isPending}
          onRange={(_, last) => {
            if (hasNextPage && !isFetchingNextPage && last >= rows.length - 20) void fetchNextPage();
          }}
          empty={
            incomplete ? (
              <EmptyState title="Looking through all captures" />
            ) : typed ? (
              <EmptyState title="No capture matches">
                <p>Nothing in the list has “{typed}” in its name or status.</p>
                <Button variant="default" onClick={() => setTyped("")}>
                  Clear the filter
                </Button>
              </EmptyState>
            ) : (
              <NoCaptures onChoose={choose} />
            )
          }
        />
      )}
      {over && (
        <div className={classes.overlay} aria-hidden>
          <div>
            <IconUpload size={36} stroke={1.4} />
            <p>Drop to upload</p>
          </div>
        </div>
      )}
      <DeleteDialog capture={deleting} onClose={() => setDeleting(undefined)} />
    </Page>
  );
}
