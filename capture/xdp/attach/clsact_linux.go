package attach

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// Where a classifier hangs, of the queueing discipline clsact (include/uapi/linux/pkt_sched.h).
const (
	clsactHandle  = 0xffff0000
	clsactParent  = 0xfffffff1
	parentIngress = 0xfffffff2
	parentEgress  = 0xfffffff3
)

// attachClassifier hangs a program into clsact, for kernels before 6.6. No link holds it: it stays when its agent is
// killed. A queueing discipline that was made for it stays too, since others may use it by now.
func attachClassifier(index int, parent uint32, program int) (detach func() error, err error) {
	const (
		actDirect                         = 1
		optionFD, optionName, optionFlags = 6, 7, 8
		firstPriority, tries              = 20000, 64
	)
	made := request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_EXCL, index, clsactHandle, clsactParent, 0)
	made = attribute(made, unix.TCA_KIND, []byte("clsact\x00"))
	if err := ask(made); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("make clsact: %w", err)
	}
	options := attribute(nil, optionFD, binary.NativeEndian.AppendUint32(nil, uint32(program)))
	options = attribute(options, optionName, []byte("rocelens-agent\x00"))
	options = attribute(options, optionFlags, binary.NativeEndian.AppendUint32(nil, actDirect))
	allProtocols := uint32(bits.ReverseBytes16(unix.ETH_P_ALL))
	for priority := uint32(firstPriority); priority < firstPriority+tries; priority++ {
		info := priority<<16 | allProtocols
		add := request(unix.RTM_NEWTFILTER, unix.NLM_F_CREATE|unix.NLM_F_EXCL, index, 1, parent, info)
		add = attribute(add, unix.TCA_KIND, []byte("bpf\x00"))
		add = attribute(add, unix.TCA_OPTIONS, options)
		err = ask(add)
		if errors.Is(err, unix.EEXIST) { // another agent's
			continue
		}
		if err != nil {
			break
		}
		return func() error {
			remove := request(unix.RTM_DELTFILTER, 0, index, 1, parent, info)
			err := ask(attribute(remove, unix.TCA_KIND, []byte("bpf\x00")))
			if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) { // gone with its interface
				return nil
			}
			return err
		}, nil
	}
	return nil, fmt.Errorf("add a classifier: %w", err)
}

// request is a message of the kernel's traffic control: struct nlmsghdr, struct tcmsg.
func request(kind, flags uint16, index int, handle, parent, info uint32) []byte {
	b := binary.NativeEndian.AppendUint16([]byte{0, 0, 0, 0}, kind) // the length is filled in later
	b = binary.NativeEndian.AppendUint16(b, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, unix.AF_UNSPEC, 0, 0, 0)
	for _, word := range []uint32{uint32(index), handle, parent, info} {
		b = binary.NativeEndian.AppendUint32(b, word)
	}
	return b
}

// attribute appends an attribute (struct nlattr).
func attribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// ask sends a message and waits for the answer.
func ask(message []byte) error {
	binary.NativeEndian.PutUint32(message, uint32(len(message)))
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // the answer has come
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 1<<13)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel's answer is none")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
