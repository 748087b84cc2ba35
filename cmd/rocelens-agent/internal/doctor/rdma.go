package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rdmaDevice is an RDMA device whose network interface is the one examined.
type rdmaDevice struct {
	name string
	soft bool // made by the kernel upon a network interface (rxe, siw): its packets pass the kernel
}

// rdmaDevices finds them in sysfs: a NIC's device has both as its children, virtual functions and bonds are told by the
// GIDs' interfaces, and a soft device names its parent.
func rdmaDevices(sysfs, name string) (found []rdmaDevice) {
	class := filepath.Join(sysfs, "class", "infiniband")
	entries, err := os.ReadDir(class)
	if err != nil {
		return nil // without the kernel's RDMA part there is no such directory
	}
	for _, e := range entries {
		dir := filepath.Join(class, e.Name())
		if text(filepath.Join(dir, "parent")) == name {
			found = append(found, rdmaDevice{e.Name(), true})
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "device", "net", name)); err == nil || hasGID(dir, name) {
			found = append(found, rdmaDevice{name: e.Name()})
		}
	}
	return found
}

// hasGID tells whether a port of the RDMA device has an address on the interface.
func hasGID(dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "ports", "*", "gid_attrs", "ndevs", "*"))
	return err == nil && slices.ContainsFunc(files, func(file string) bool { return text(file) == name })
}

// text is a file of sysfs without its line end, empty when it cannot be read: many exist and refuse.
func text(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (r *Report) rdma(all []rdmaDevice) {
	var hard, soft []string
	for _, d := range all {
		if d.soft {
			soft = append(soft, d.name)
		} else {
			hard = append(hard, d.name)
		}
	}
	switch {
	case len(hard) > 0:
		r.add("rdma", Note, "it belongs to the RDMA device "+strings.Join(hard, " and ")+", which moves RDMA packets past the kernel, so that a capture here sees none of this host's own",
			"mirror the packets to an interface without RDMA, as shown below; counters of the RDMA device are read all the same")
	case len(soft) > 0:
		r.add("rdma", OK, "the RDMA device "+strings.Join(soft, " and ")+" is made by the kernel upon it, so that its packets are seen here", "")
	default:
		r.add("rdma", OK, "no RDMA device uses it, so that no packet bypasses the kernel here", "")
	}
}
