package portstat

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Source is where a counter or setting is read.
type Source uint8

// Sources.
const (
	Port      Source = iota // counters of an RDMA port that InfiniBand defines: ports/N/counters
	Hardware                // counters of the NIC: hw_counters of an RDMA port or device
	Interface               // statistics of the network interface
	Driver                  // what its driver tells ethtool of pauses, discards, priorities, marks and RDMA
	Setting                 // no counter: how the port is set up
)

var sourceNames = [...]string{"port", "hardware", "interface", "driver", "setting"}

// String is the source's name, as in the column source.
func (s Source) String() string { return sourceNames[s] }

// Key names a counter or setting of the interface that is read.
type Key struct {
	Source Source
	Device string // RDMA device; empty for what belongs to the network interface
	Port   uint32 // of that device, from 1; 0 without one
	Name   string // as the kernel or the driver spells it
}

// Value is a counter or setting at the moment it was read, and since it was read before.
type Value struct {
	Key

	Number uint64 // with HasNumber
	Delta  uint64 // with HasDelta
	Text   string // of a setting
	// HasNumber does not hold for a setting that is no number.
	HasNumber bool
	// HasDelta does not hold for settings, the first time, and when a counter went back: a reset and a wrap cannot be told apart.
	HasDelta bool
}

// RDMA is an RDMA port that uses the network interface.
type RDMA struct {
	Device string
	Port   uint32
	// Soft is a device that the kernel makes upon the network interface (rxe, siw). The packets of others bypass the kernel.
	Soft bool
}

// String is for instance mlx5_0/1.
func (r RDMA) String() string { return r.Device + "/" + strconv.FormatUint(uint64(r.Port), 10) }

// Reader reads one network interface again and again. It is for one goroutine.
type Reader struct {
	name   string
	sys    string // where sysfs is
	config string // and configfs
	driver func(name string) ([]Value, error)
	before map[Key]uint64
}

// NewReader reads the interface of the name.
func NewReader(name string) *Reader {
	return &Reader{name: name, sys: "/sys", config: "/sys/kernel/config", driver: driverCounters, before: map[Key]uint64{}}
}

// Read is all that there is now, ordered by key. Ports are the RDMA ports that use the interface, none on most machines.
func (r *Reader) Read() (values []Value, ports []RDMA) {
	ports = r.Ports()
	for _, p := range ports {
		values = append(values, r.ofPort(p)...)
	}
	values = append(values, counters(filepath.Join(r.sys, "class", "net", r.name, "statistics"), Key{Source: Interface})...)
	if told, err := r.driver(r.name); err == nil { // a driver that has none says so by an error
		values = append(values, told...)
	}
	values = append(values, r.settings(ports)...)
	slices.SortFunc(values, func(a, b Value) int { return compare(a.Key, b.Key) })
	values = slices.CompactFunc(values, func(a, b Value) bool { return a.Key == b.Key })
	r.compare(values)
	return values, ports
}

func compare(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Name, b.Name))
}

// compare fills what has been added since the last time. A counter that is absent for once has no past any more.
func (r *Reader) compare(values []Value) {
	now := make(map[Key]uint64, len(values))
	for i := range values {
		v := &values[i]
		if v.Source == Setting {
			continue
		}
		if before, ok := r.before[v.Key]; ok && v.Number >= before {
			v.Delta, v.HasDelta = v.Number-before, true
		}
		now[v.Key] = v.Number
	}
	r.before = now
}

// ofPort is the counters of an RDMA port, and of its device where these are not the port's.
func (r *Reader) ofPort(p RDMA) []Value {
	device := filepath.Join(r.sys, "class", "infiniband", p.Device)
	port := filepath.Join(device, "ports", strconv.FormatUint(uint64(p.Port), 10))
	values := counters(filepath.Join(port, "counters"), Key{Source: Port, Device: p.Device, Port: p.Port})
	values = append(values, counters(filepath.Join(port, "hw_counters"), Key{Source: Hardware, Device: p.Device, Port: p.Port})...)
	return append(values, counters(filepath.Join(device, "hw_counters"), Key{Source: Hardware, Device: p.Device})...)
}

// counters is each file of a directory that holds a number. Those that refuse, as many do where the NIC has no such
// counter, are absent.
func counters(directory string, of Key) (values []Value) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Name() == "lifespan" { // how often the kernel asks the NIC, which is no counter
			continue
		}
		if n, err := strconv.ParseUint(text(filepath.Join(directory, e.Name())), 0, 64); err == nil {
			v := Value{Key: of, Number: n, HasNumber: true}
			v.Name = e.Name()
			values = append(values, v)
		}
	}
	return values
}

// maxText is how long a file of sysfs may be that holds one number or word.
const maxText = 256

// text is a file without its line end, empty when it cannot be read or is not short.
func text(path string) string {
	b, err := os.ReadFile(path)
	if err != nil || len(b) > maxText {
		return ""
	}
	return strings.TrimSpace(string(b))
}
