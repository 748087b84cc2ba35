package doctor

import (
	"encoding/binary"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands and string sets of linux/ethtool.h that package unix does not put into Go.
const (
	setPrivateFlags = 2  // ETH_SS_PRIV_FLAGS
	setFeatures     = 4  // ETH_SS_FEATURES
	nameLength      = 32 // ETH_GSTRING_LEN
	ringWords       = 9  // struct ethtool_ringparam: command, four maxima, four values
	mostNames       = 1 << 12
)

// nic asks the driver of an interface.
type nic struct {
	fd   int
	name string
}

// request is struct ifreq with a pointer to what is asked.
type request struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte // the union is longer than a pointer
}

// ask calls the driver. What is asked stands in buffer, and is overwritten by the answer.
func (n nic) ask(buffer []uint32) bool {
	q := request{data: unsafe.Pointer(&buffer[0])} //nolint:gosec // how this ioctl is asked
	copy(q.name[:unix.IFNAMSIZ-1], n.name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&q))) //nolint:gosec // an ioctl that package unix has no function for
	runtime.KeepAlive(buffer)
	return errno == 0
}

// names are the strings of a set, in the order of their bits.
func (n nic) names(set uint32) []string {
	// struct ethtool_sset_info: command, reserved, mask of 64 bits, then a count.
	info := []uint32{unix.ETHTOOL_GSSET_INFO, 0, 0, 0, 0}
	mask := uint64(1) << set
	binary.NativeEndian.PutUint64(bytesOf(info)[8:], mask)
	if !n.ask(info) || binary.NativeEndian.Uint64(bytesOf(info)[8:]) != mask || info[4] == 0 || info[4] > mostNames {
		return nil
	}
	count := info[4]
	strings := make([]uint32, 3+count*nameLength/4)
	strings[0], strings[1], strings[2] = unix.ETHTOOL_GSTRINGS, set, count
	if !n.ask(strings) {
		return nil
	}
	text := bytesOf(strings)[12:]
	var out []string
	for each := range slices.Chunk(text, nameLength) {
		out = append(out, unix.ByteSliceToString(each))
	}
	return out
}

func bytesOf(words []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 4*len(words)) //nolint:gosec // the kernel's structures are bytes
}

// features are the offloads by name, and whether each is on; nil when the kernel does not tell.
func (n nic) features() map[string]bool {
	names := n.names(setFeatures)
	if names == nil {
		return nil
	}
	// struct ethtool_gfeatures: command, size, then for each 32 features available, requested, active, never changed.
	blocks := (len(names) + 31) / 32
	answer := make([]uint32, 2+4*blocks)
	answer[0], answer[1] = unix.ETHTOOL_GFEATURES, uint32(blocks)
	if !n.ask(answer) {
		return nil
	}
	out := map[string]bool{}
	for i, name := range names {
		out[name] = answer[2+4*(i/32)+2]>>(i%32)&1 != 0
	}
	return out
}

// privateFlags are switches of the driver's own.
func (n nic) privateFlags() map[string]bool {
	names := n.names(setPrivateFlags)
	answer := []uint32{unix.ETHTOOL_GPFLAGS, 0}
	if names == nil || !n.ask(answer) {
		return nil
	}
	out := map[string]bool{}
	for i, name := range names {
		if i < 32 {
			out[name] = answer[1]>>i&1 != 0
		}
	}
	return out
}

// ring is how many descriptors the NIC has for received frames, and how many it could have.
func (n nic) ring() (now, most uint32, ok bool) {
	answer := make([]uint32, ringWords)
	answer[0] = unix.ETHTOOL_GRINGPARAM
	ok = n.ask(answer)
	return answer[5], answer[1], ok
}
