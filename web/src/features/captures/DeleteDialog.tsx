import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { Capture } from "../../api/types";
import { formatFileSize } from "../../lib/format";
import { useDeleteCapture } from "./hooks";

interface Props {
  capture: Capture | undefined;
  onClose: () => void;
  onDeleted?: () => void;
}

export function DeleteDialog({ capture, onClose, onDeleted }: Props) {
  const remove = useDeleteCapture();
  return (
    <Modal opened={capture !== undefined} onClose={onClose} title="Delete this capture?" centered>
      {capture && (
        <Stack gap="md">
          <Text size="sm">
            <strong>{capture.name}</strong> ({formatFileSize(capture.size)}) and all rows that were made from it will be
            deleted. This cannot be undone.
          </Text>
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose} data-autofocus>
              Keep it
            </Button>
            <Button
              color="red"
              loading={remove.isPending}
              onClick={() =>
                remove.mutate(capture.id, {
                  onSuccess: () => {
                    onClose();
                    onDeleted?.();
                  },
                })
              }
            >
              Delete for good
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
