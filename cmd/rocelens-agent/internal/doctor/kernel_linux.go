package doctor

import (
	"errors"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// kernel reports what of the kernel tier this kernel has. Each probe makes an empty map or loads a program that does
// nothing, attaches none, and lets go of it at once.
func (r *Report) kernel(index int, held uint64) {
	var u unix.Utsname
	release := "of unknown release"
	if unix.Uname(&u) == nil {
		release = unix.ByteSliceToString(u.Release[:])
	}
	tcx := func() error {
		_, err := link.QueryPrograms(link.QueryOptions{Target: index, Attach: ebpf.AttachTCXIngress})
		return err
	}
	var has, lacks, hidden []string
	for _, probe := range []struct {
		name string
		try  func() error
	}{
		{"XDP", func() error { return features.HaveProgramType(ebpf.XDP) }},
		{"TCX", tcx},
		{"AF_XDP", func() error { return features.HaveMapType(ebpf.XSKMap) }},
		{"BPF ring buffers", func() error { return features.HaveMapType(ebpf.RingBuf) }},
	} {
		switch err := probe.try(); {
		case err == nil:
			has = append(has, probe.name)
		case errors.Is(err, ebpf.ErrNotSupported) && held&(1<<unix.CAP_BPF) != 0: // a refusal can look the same
			lacks = append(lacks, probe.name)
		default:
			hidden = append(hidden, probe.name)
		}
	}
	says := []string{"Linux " + release}
	if len(has) > 0 {
		says = append(says, "has "+strings.Join(has, ", "))
	}
	if len(lacks) > 0 {
		says = append(says, "lacks "+strings.Join(lacks, ", "))
	}
	switch {
	case len(hidden) > 0:
		r.add("kernel", Unknown, strings.Join(append(says, "does not say without more rights whether it has "+strings.Join(hidden, ", ")), ", "), "run doctor as root to know")
	case len(lacks) > 0:
		r.add("kernel", Note, strings.Join(says, ", "), "a newer kernel has them: ring buffers 5.8, TCX 6.6")
	default:
		r.add("kernel", OK, strings.Join(says, ", "), "")
	}
}

// xdp reports what the driver makes of XDP.
func (r *Report) xdp(index int) {
	bits, err := xdpFeatures(index)
	if err != nil {
		r.add("xdp", Unknown, "this kernel does not say what the driver makes of XDP, which takes Linux 6.3: native is tried first, and generic works with all", "")
		return
	}
	if bits&xdpBasic == 0 {
		r.add("xdp", Note, "the driver has no XDP of its own: only the generic one works, which is slower", "")
		return
	}
	says := "the driver has native XDP"
	if bits&xdpRedirect != 0 {
		says += ", with redirection to AF_XDP"
	}
	if bits&xdpZeroCopy != 0 {
		says += " without a copy"
	}
	r.add("xdp", OK, says, "")
}
