// Package vethtest gives tests a cable: two network namespaces joined by a pair of virtual Ethernet interfaces.
package vethtest

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// End is one end of the cable.
type End struct {
	Namespace string
	Interface string
}

// Pair makes a cable and takes it away after the test. Tests skip where that is not allowed.
func Pair(tb testing.TB) (left, right End) {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		tb.Skip("network namespaces need the program ip (iproute2)")
	}
	tag := fmt.Sprintf("%x", os.Getpid()&0xffff)
	left, right = End{"rll" + tag, "rll" + tag}, End{"rlr" + tag, "rlr" + tag}
	for _, e := range []End{left, right} {
		if out, err := exec.CommandContext(tb.Context(), "ip", "netns", "add", e.Namespace).CombinedOutput(); err != nil { //nolint:gosec // a name of our own
			tb.Skipf("network namespaces cannot be made here: %s", out)
		}
		tb.Cleanup(func() {
			if out, err := exec.Command("ip", "netns", "delete", e.Namespace).CombinedOutput(); err != nil { //nolint:gosec,noctx // a name of our own; the test's context is over
				tb.Errorf("delete namespace: %s", out)
			}
		})
	}
	ip(tb, "link add", left.Interface, "netns", left.Namespace, "type veth peer name", right.Interface, "netns", right.Namespace)
	for _, e := range []End{left, right} {
		ip(tb, "-n", e.Namespace, "link set lo up")
		ip(tb, "-n", e.Namespace, "link set", e.Interface, "mtu 9000 up")
	}
	return left, right
}

func ip(tb testing.TB, words ...string) {
	tb.Helper()
	args := strings.Fields(strings.Join(words, " "))
	if out, err := exec.CommandContext(tb.Context(), "ip", args...).CombinedOutput(); err != nil { //nolint:gosec // words of tests
		tb.Fatalf("ip %s: %s", strings.Join(args, " "), out)
	}
}

// Go runs fn in a goroutine whose system calls see the namespace of this end. The returned channel is closed when
// fn is done.
func (e End) Go(tb testing.TB, fn func()) <-chan struct{} {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread is never unlocked, so it ends with the goroutine and carries the namespace nowhere.
		runtime.LockOSThread()
		f, err := os.Open("/run/netns/" + e.Namespace)
		if err != nil {
			tb.Errorf("open namespace: %v", err)
			return
		}
		defer f.Close() //nolint:errcheck // it was only read
		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			tb.Errorf("enter namespace: %v", err)
			return
		}
		fn()
	}()
	return done
}

// Send puts frames on the cable at this end, all by one CPU, as a queue of a NIC does.
func (e End) Send(tb testing.TB, frames [][]byte) {
	tb.Helper()
	<-e.Go(tb, func() {
		if err := stay(); err != nil {
			tb.Errorf("stay on one CPU: %v", err)
			return
		}
		i, err := net.InterfaceByName(e.Interface)
		if err != nil {
			tb.Errorf("find interface: %v", err)
			return
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			tb.Errorf("open packet socket: %v", err)
			return
		}
		defer unix.Close(fd) //nolint:errcheck // nothing is left to be lost
		for _, frame := range frames {
			// The kernel fills in the protocol from the frame when it is 0, but not for tagged frames.
			var order [2]byte
			copy(order[:], frame[12:14])
			address := unix.SockaddrLinklayer{Ifindex: i.Index, Protocol: binary.NativeEndian.Uint16(order[:])}
			if err := unix.Sendto(fd, frame, 0, &address); err != nil {
				tb.Errorf("send frame of %d bytes: %v", len(frame), err)
				return
			}
		}
	})
}

// stay keeps this thread on the first CPU that it may use.
func stay() error {
	var may, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return err
	}
	for i := range 8 * len(may) * 8 {
		if may.IsSet(i) {
			one.Set(i)
			return unix.SchedSetaffinity(0, &one)
		}
	}
	return nil
}

// IP runs the program ip in the namespace of this end.
func (e End) IP(tb testing.TB, words ...string) {
	tb.Helper()
	ip(tb, append([]string{"-n", e.Namespace}, words...)...)
}

// VLANOffload says whether the interface of this end takes VLAN tags out of frames and puts them in, as a NIC may, or leaves
// that to the kernel.
func (e End) VLANOffload(tb testing.TB, on bool) {
	tb.Helper()
	// struct ethtool_value and the flags of linux/ethtool.h.
	const get, set, receive, send = 0x25, 0x26, 1 << 8, 1 << 7
	type value struct{ command, data uint32 }
	<-e.Go(tb, func() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			tb.Errorf("open socket: %v", err)
			return
		}
		defer unix.Close(fd) //nolint:errcheck // nothing is left to be lost
		ask := func(v *value) {
			request := struct {
				name [unix.IFNAMSIZ]byte
				data *value
				_    [16]byte
			}{data: v}
			copy(request.name[:], e.Interface)
			if _, _, code := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); code != 0 { //nolint:gosec // as netdevice(7) has it
				tb.Errorf("flags of the interface: %v", code)
			}
		}
		v := value{command: get}
		ask(&v)
		want := v.data &^ (receive | send)
		if on {
			want |= receive | send
		}
		ask(&value{set, want})
		v = value{command: get}
		if ask(&v); v.data != want {
			tb.Errorf("flags of the interface are %#x, not %#x", v.data, want)
		}
	})
}

// Up switches the interface of this end on.
func (e End) Up(tb testing.TB) {
	tb.Helper()
	e.IP(tb, "link set", e.Interface, "up")
}

// Down switches the interface of this end off.
func (e End) Down(tb testing.TB) {
	tb.Helper()
	e.IP(tb, "link set", e.Interface, "down")
}
