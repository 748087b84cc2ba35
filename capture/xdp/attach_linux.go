package xdp

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Way is a way to attach a program to an interface.
type Way string

// Ways, from the fastest.
const (
	NativeFrags  Way = "native XDP, frames in pieces"
	Native       Way = "native XDP"
	GenericFrags Way = "generic XDP, frames in pieces"
	Generic      Way = "generic XDP"
	TCX          Way = "TCX"
	CLSACT       Way = "clsact"
)

// Attached is how a Source's programs are attached.
type Attached struct {
	Ingress, Egress Way
	FellBack        []string // what was tried before, and why it did not do
	Outlives        bool     // the kernel does not detach a program when its agent dies
}

// String names the ways.
func (a Attached) String() string { return fmt.Sprintf("%s in, %s out", a.Ingress, a.Egress) }

// rung is one try.
type rung struct {
	way Way
	try func() (func() error, error)
}

func (s *Source) attach(o Options) error {
	i, err := net.InterfaceByName(o.Interface)
	if err != nil {
		return fmt.Errorf("find the interface %s: %w", o.Interface, err)
	}
	xdp := func(program string, flags link.XDPAttachFlags) func() (func() error, error) {
		return func() (func() error, error) {
			p := s.objects.Programs[program]
			if p == nil {
				return nil, errors.New("the kernel has no such programs")
			}
			l, err := link.AttachXDP(link.XDPOptions{Program: p, Interface: i.Index, Flags: flags})
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}
	}
	tcx := func(at ebpf.AttachType) func() (func() error, error) {
		return func() (func() error, error) {
			l, err := link.AttachTCX(link.TCXOptions{Program: s.objects.Programs[programProgOnTc], Interface: i.Index, Attach: at})
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}
	}
	clsact := func(parent uint32) func() (func() error, error) {
		return func() (func() error, error) {
			return attachClassifier(i.Index, parent, s.objects.Programs[programProgOnTc].FD())
		}
	}
	if s.attached.Ingress, err = s.climb(o, "in", []rung{
		{NativeFrags, xdp(programProgOnXdpFrags, link.XDPDriverMode)},
		{Native, xdp(programProgOnXdp, link.XDPDriverMode)},
		{GenericFrags, xdp(programProgOnXdpFrags, link.XDPGenericMode)},
		{Generic, xdp(programProgOnXdp, link.XDPGenericMode)},
		{TCX, tcx(ebpf.AttachTCXIngress)},
		{CLSACT, clsact(parentIngress)},
	}); err != nil {
		return err
	}
	if s.attached.Egress, err = s.climb(o, "out", []rung{
		{TCX, tcx(ebpf.AttachTCXEgress)},
		{CLSACT, clsact(parentEgress)},
	}); err != nil {
		return err
	}
	s.attached.Outlives = s.attached.Ingress == CLSACT || s.attached.Egress == CLSACT
	return s.Renew()
}

// climb attaches by the first way that does.
func (s *Source) climb(o Options, direction string, ladder []rung) (Way, error) {
	var errs []error
	for _, r := range ladder {
		if slices.Contains(o.Skip, r.way) {
			continue
		}
		detach, err := r.try()
		if err == nil {
			s.detach = append(s.detach, detach)
			return r.way, nil
		}
		s.attached.FellBack = append(s.attached.FellBack, fmt.Sprintf("%s %s: %s", r.way, direction, oneLine(err)))
		errs = append(errs, fmt.Errorf("%s: %w", r.way, err))
	}
	return "", fmt.Errorf("attach a program to %s: %w", o.Interface, errors.Join(errs...))
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
