package portstat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of the kernel's linux/ethtool.h.
const (
	lengthOfName  = 32 // ETH_GSTRING_LEN
	setStatistics = 1  // ETH_SS_STATS
	maxStatistics = 1 << 14
)

var errNoStatistics = errors.New("the driver has no statistics")

// request is struct ifreq with a pointer.
type request struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [24 - unsafe.Sizeof(uintptr(0))]byte
}

// driverCounters are those of the driver's statistics that are of interest.
func driverCounters(name string) ([]Value, error) {
	all, err := statistics(name)
	return slices.DeleteFunc(all, func(v Value) bool { return !wanted(v.Name) }), err
}

// statistics is all that the driver counts, by SIOCETHTOOL, which needs no right.
func statistics(name string) ([]Value, error) {
	if len(name) >= unix.IFNAMSIZ {
		return nil, unix.ENODEV
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(socket) }() // nothing was written
	ask := func(buffer []byte) error {
		r := request{data: unsafe.Pointer(&buffer[0])} //nolint:gosec // how this ioctl is asked
		copy(r.name[:], name)
		_, _, code := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r))) //nolint:gosec // package unix has no function for it
		runtime.KeepAlive(buffer)
		if code != 0 {
			return fmt.Errorf("ask the driver of %s: %w", name, code)
		}
		return nil
	}
	order := binary.NativeEndian

	// struct ethtool_sset_info: how many statistics there are.
	info := make([]byte, 4+4+8+4)
	order.PutUint32(info, unix.ETHTOOL_GSSET_INFO)
	order.PutUint64(info[8:], 1<<setStatistics)
	if err := ask(info); err != nil {
		return nil, err
	}
	count := int(order.Uint32(info[16:]))
	if order.Uint64(info[8:]) == 0 || count == 0 || count > maxStatistics {
		return nil, errNoStatistics
	}

	// struct ethtool_gstrings, struct ethtool_stats. The kernel fills as many as there are by then, so there is room for some
	// that came meanwhile.
	room := 2*count + 64
	names := make([]byte, 12+room*lengthOfName)
	order.PutUint32(names, unix.ETHTOOL_GSTRINGS)
	order.PutUint32(names[4:], setStatistics)
	order.PutUint32(names[8:], uint32(count))
	if err := ask(names); err != nil {
		return nil, err
	}
	values := make([]byte, 8+room*8)
	order.PutUint32(values, unix.ETHTOOL_GSTATS)
	order.PutUint32(values[4:], uint32(count))
	if err := ask(values); err != nil {
		return nil, err
	}
	if order.Uint32(names[8:]) != uint32(count) || order.Uint32(values[4:]) != uint32(count) {
		return nil, errors.New("the statistics of the driver changed meanwhile")
	}
	all := make([]Value, count)
	for i := range all {
		text := unix.ByteSliceToString(names[12+i*lengthOfName : 12+(i+1)*lengthOfName])
		all[i] = Value{Key: Key{Source: Driver, Name: text}, Number: order.Uint64(values[8+8*i:]), HasNumber: true}
	}
	return all, nil
}
