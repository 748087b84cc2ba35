package portstat

import (
	"os"
	"path/filepath"
	"strconv"
)

// Ports are the RDMA ports that use the interface: those whose GIDs belong to it, those of the NIC that it is an interface
// of, and soft devices made upon it.
func (r *Reader) Ports() (found []RDMA) {
	class := filepath.Join(r.sys, "class", "infiniband")
	devices, err := os.ReadDir(class)
	if err != nil {
		return nil // without the kernel's RDMA part there is no such directory
	}
	for _, d := range devices {
		device := filepath.Join(class, d.Name())
		ports, err := os.ReadDir(filepath.Join(device, "ports"))
		if err != nil {
			continue
		}
		_, err = os.Stat(filepath.Join(device, "device"))
		soft := err != nil
		for _, p := range ports {
			number, err := strconv.ParseUint(p.Name(), 10, 32)
			if err == nil && r.uses(device, p.Name(), number, len(ports) == 1) {
				found = append(found, RDMA{Device: d.Name(), Port: uint32(number), Soft: soft})
			}
		}
	}
	return found
}

// uses tells whether a port of a device uses the interface. A NIC whose ports share one device says by dev_port, from 0,
// which interface belongs to which.
func (r *Reader) uses(device, port string, number uint64, only bool) bool {
	names, err := filepath.Glob(filepath.Join(device, "ports", port, "gid_attrs", "ndevs", "*"))
	for _, file := range names {
		if err == nil && text(file) == r.name {
			return true
		}
	}
	if text(filepath.Join(device, "parent")) == r.name {
		return true
	}
	netdev := filepath.Join(device, "device", "net", r.name)
	if _, err := os.Stat(netdev); err != nil {
		return false
	}
	index, err := strconv.ParseUint(text(filepath.Join(netdev, "dev_port")), 0, 32)
	return only || err == nil && index+1 == number
}
