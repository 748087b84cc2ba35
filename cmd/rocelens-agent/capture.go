package main

import (
	"errors"
	"os"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/afpacket"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
)

// captureFlags say how the packet tier captures.
type captureFlags struct {
	Capture    string `env:"ROCELENS_AGENT_CAPTURE" enum:"auto,headers,afpacket,afxdp" default:"afpacket" help:"How the packet tier captures. afpacket: whole frames, whose ICRC is verified; headers: programs in the kernel copy the first 192 bytes of what is RDMA, for less; auto: headers where the kernel has that, else afpacket; afxdp: whole frames by AF_XDP, for mirror ports only, since packets that may be RDMA do not reach this host any more (${default})."`
	Timestamps string `env:"ROCELENS_AGENT_TIMESTAMPS" enum:"auto,nic,kernel" default:"auto" help:"Whose clock times whole frames. auto: the NIC's where it stamps all frames already and its clock follows the host's; nic: the NIC's, which is set to stamp all frames, as ptp4l may notice; kernel: the kernel's (${default})."`
}

var timestamps = map[string]afpacket.Timestamps{"auto": afpacket.TimestampsAuto, "nic": afpacket.TimestampsNIC, "kernel": afpacket.TimestampsKernel}

func (c *runCommand) capture() watch.Capture {
	return watch.Capture{By: c.Capture, RingBytes: c.RingMiB << 20, NoPromiscuous: c.NoPromiscuous, Timestamps: timestamps[c.Timestamps]}
}

// remedy is what to do where the capture that was asked for cannot be had.
func (f *captureFlags) remedy(err error) string {
	switch {
	case f.Capture == watch.ByAFPacket || errors.Is(err, capture.ErrNoInterface):
		return ""
	case errors.Is(err, os.ErrPermission):
		return ": give the agent CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and CAP_NET_RAW, or let it capture by --capture afpacket"
	}
	return ": let it capture by --capture afpacket; rocelens-agent doctor says what the kernel has"
}
