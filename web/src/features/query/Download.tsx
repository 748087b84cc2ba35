import { Button, Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconDownload, IconX } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { client, messageOf, unwrap } from "../../api/client";

type Format = "csv" | "json";

const FILES: Record<Format, string> = { csv: "rocelens-query.csv", json: "rocelens-query.jsonl" };

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** The whole answer as a file, not only the rows that are shown. */
export function Download({ sql }: { sql: string }) {
  const running = useRef<AbortController>(undefined);
  const [busy, setBusy] = useState(false);
  const start = async (format: Format) => {
    const abort = new AbortController();
    running.current = abort;
    setBusy(true);
    try {
      const blob = await unwrap(client.POST("/query", { body: { sql, format, max_rows: 10_000 }, parseAs: "blob", signal: abort.signal }));
      save(blob as Blob, FILES[format]);
    } catch (error) {
      if (!abort.signal.aborted) {
        notifications.show({ color: "red", title: "The download failed", message: messageOf(error), autoClose: 8_000 });
      }
    } finally {
      setBusy(false);
    }
  };
  if (busy) {
    return (
      <Button variant="default" size="compact-sm" leftSection={<IconX size={14} />} onClick={() => running.current?.abort()}>
        Cancel download
      </Button>
    );
  }
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" size="compact-sm" leftSection={<IconDownload size={14} />}>
          Download all
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void start("csv")}>CSV, with a header line</Menu.Item>
        <Menu.Item onClick={() => void start("json")}>JSON, one object a line</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
