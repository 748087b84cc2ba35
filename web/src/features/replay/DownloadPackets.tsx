import { Button, Menu } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { API_BASE } from "../../api/client";

interface Props {
  captureId: string;
  divergenceId: string;
  size?: "compact-xs" | "xs";
}

const AROUND = [
  { around: 0, label: "What proves it alone" },
  { around: 20, label: "With 20 packets of the connection around each" },
  { around: 500, label: "With 500 around each" },
];

/** The packets that prove a divergence, as a pcapng file whose comments say so. */
export function DownloadPackets({ captureId, divergenceId, size = "xs" }: Props) {
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" size={size} leftSection={<IconDownload size={14} />} title="A pcapng file for Wireshark, with a comment on each packet that proves it">
          Download these packets
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {AROUND.map(({ around, label }) => (
          <Menu.Item key={around} component="a" href={`${API_BASE}/captures/${captureId}/divergences/${divergenceId}/pcapng?around=${around}`} download>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
