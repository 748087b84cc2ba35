import { Popover } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { metaroceFields } from "../../lib/metaroceFields.gen";
import classes from "./ProfileNote.module.css";

/** Names the profile and says, on demand, what it is and what it is not. */
export function ProfileNote({ profile }: { profile: string }) {
  return (
    <Popover width={420} position="bottom-start" shadow="md" withinPortal>
      <Popover.Target>
        <button type="button" className={classes.name} title="What this profile is">
          MetaRoCE, profile {profile}
          <IconInfoCircle size={14} aria-hidden />
        </button>
      </Popover.Target>
      <Popover.Dropdown className={classes.text}>{metaroceFields["metaroce"]}</Popover.Dropdown>
    </Popover>
  );
}
