import type { Agent } from "../../api/types";
import classes from "./agents.module.css";

/** That a NIC moves packets past the kernel, where the agent cannot see them. */
export function Bypassed({ of }: { of: Agent["interfaces"][number] | undefined }) {
  if (!of?.bypassed) return null;
  return (
    <p className={classes.bypassed} role="note">
      <strong>Packets move past the kernel here.</strong> The NIC ({of.rdma}) handles this host's own RDMA by itself: the agent sees of it only what
      the NIC, or a switch, mirrors to this interface. The counters know of all of it. <code>rocelens-agent doctor {of.name}</code> says how to
      mirror.
    </p>
  );
}
