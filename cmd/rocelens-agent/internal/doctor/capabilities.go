package doctor

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// capability is a right that a tier needs.
type capability struct {
	name string
	bit  uint
	whom string
}

var capabilities = []capability{
	{"CAP_NET_RAW", unix.CAP_NET_RAW, "capturing at all"},
	{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN, "the kernel tier, and reading how the NIC is set"},
	{"CAP_BPF", unix.CAP_BPF, "the kernel tier"},
	{"CAP_PERFMON", unix.CAP_PERFMON, "the kernel tier"},
}

// capabilitiesHeld reads the effective capabilities of the process, which are those that count.
func capabilitiesHeld(proc string) (held uint64, known bool) {
	b, err := os.ReadFile(proc)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			held, err = strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return held, err == nil
		}
	}
	return 0, false
}

// rights reports on the capabilities, and tells which are held.
func (r *Report) rights(proc string) (held uint64) {
	held, known := capabilitiesHeld(proc)
	if !known {
		r.add("capabilities", Unknown, "which capabilities are held cannot be read from "+proc, "")
		return held
	}
	var has, lacks []string
	for _, c := range capabilities {
		if held&(1<<c.bit) != 0 {
			has = append(has, c.name)
		} else {
			lacks = append(lacks, c.name+" (for "+c.whom+")")
		}
	}
	switch {
	case len(lacks) == 0:
		r.add("capabilities", OK, "held: "+strings.Join(has, ", "), "")
	case held&(1<<unix.CAP_NET_RAW) == 0:
		r.add("capabilities", Problem, "missing: "+strings.Join(lacks, ", "),
			"run as root, by the systemd unit of deploy/, or once setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon+ep on the program")
	default:
		r.add("capabilities", Note, "missing: "+strings.Join(lacks, ", "), "without these the agent captures by packet sockets only")
	}
	return held
}
