package attach

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Programs do the same in each place. XDPFrags may be nil where the kernel has no such programs.
type Programs struct {
	XDPFrags *ebpf.Program
	XDP      *ebpf.Program
	TCIn     *ebpf.Program
	TCOut    *ebpf.Program
	// Lease is until when the latter two are to work, ns of the monotonic clock: in clsact they outlive their agent.
	Lease *ebpf.Variable
}

// Options say how to attach.
type Options struct {
	// Promiscuous has the interface take frames too that are not addressed to it, such as those of a mirror port.
	Promiscuous bool
	// Skip are ways that are not tried.
	Skip []Way
}

// Attachment is how programs are attached.
type Attachment struct {
	Ingress, Egress Way
	FellBack        []string // what was tried before, and why it did not do
	Outlives        bool     // the kernel does not detach a program when its agent dies

	lease  *ebpf.Variable
	detach []func() error
}

// String names the ways.
func (a Attachment) String() string { return fmt.Sprintf("%s in, %s out", a.Ingress, a.Egress) }

// rung is one try.
type rung struct {
	way Way
	try func() (func() error, error)
}

// To attaches programs to an interface: one in each direction, or none at all.
func To(name string, p Programs, o Options) (*Attachment, error) {
	a := &Attachment{lease: p.Lease}
	if err := a.attach(name, p, o); err != nil {
		return nil, errors.Join(fmt.Errorf("attach a program to %s: %w", name, err), a.Detach())
	}
	return a, nil
}

func (a *Attachment) attach(name string, p Programs, o Options) error {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return fmt.Errorf("find the interface: %w", err)
	}
	if o.Promiscuous {
		leave, err := Promiscuous(i.Index)
		if err != nil {
			return err
		}
		a.detach = append(a.detach, leave)
	}
	xdp := func(program *ebpf.Program, flags link.XDPAttachFlags) func() (func() error, error) {
		return func() (func() error, error) {
			if program == nil {
				return nil, errors.New("the kernel has no such programs")
			}
			l, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: i.Index, Flags: flags})
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}
	}
	tcx := func(program *ebpf.Program, at ebpf.AttachType) func() (func() error, error) {
		return func() (func() error, error) {
			l, err := link.AttachTCX(link.TCXOptions{Program: program, Interface: i.Index, Attach: at})
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}
	}
	clsact := func(program *ebpf.Program, parent uint32) func() (func() error, error) {
		return func() (func() error, error) { return attachClassifier(i.Index, parent, program.FD()) }
	}
	if a.Ingress, err = a.climb(o.Skip, "in", []rung{
		{NativeFrags, xdp(p.XDPFrags, link.XDPDriverMode)},
		{Native, xdp(p.XDP, link.XDPDriverMode)},
		{GenericFrags, xdp(p.XDPFrags, link.XDPGenericMode)},
		{Generic, xdp(p.XDP, link.XDPGenericMode)},
		{TCX, tcx(p.TCIn, ebpf.AttachTCXIngress)},
		{CLSACT, clsact(p.TCIn, parentIngress)},
	}); err != nil {
		return err
	}
	if a.Egress, err = a.climb(o.Skip, "out", []rung{
		{TCX, tcx(p.TCOut, ebpf.AttachTCXEgress)},
		{CLSACT, clsact(p.TCOut, parentEgress)},
	}); err != nil {
		return err
	}
	a.Outlives = a.Ingress == CLSACT || a.Egress == CLSACT
	return a.Renew()
}

// climb attaches by the first way that does.
func (a *Attachment) climb(skip []Way, direction string, ladder []rung) (Way, error) {
	var errs []error
	for _, r := range ladder {
		if slices.Contains(skip, r.way) {
			continue
		}
		detach, err := r.try()
		if err == nil {
			a.detach = append(a.detach, detach)
			return r.way, nil
		}
		a.FellBack = append(a.FellBack, fmt.Sprintf("%s %s: %s", r.way, direction, oneLine(err)))
		errs = append(errs, fmt.Errorf("%s: %w", r.way, err))
	}
	return "", errors.Join(errs...)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

const leaseTime = 10 * time.Second

// Renew tells a program that outlives the agent that it lives. Where there is such a program it is due every second.
func (a *Attachment) Renew() error {
	if !a.Outlives {
		return nil
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	return a.lease.Set(uint64(now.Nano()) + uint64(leaseTime))
}

// Detach takes the programs away.
func (a *Attachment) Detach() error {
	var errs []error
	for _, f := range a.detach {
		errs = append(errs, f())
	}
	a.detach = nil
	return errors.Join(errs...)
}
