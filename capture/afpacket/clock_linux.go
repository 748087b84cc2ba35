package afpacket

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// timer tells the time of frames. A frame that another clock has stamped has no time: two clocks are never mixed.
type timer struct {
	nic   bool
	shift int64 // ns that lead from the NIC's clock to Unix time
	name  string
	// strangers tells a host, about each second frame of which goes out and is not stamped by the NIC, from a mirror port,
	// whose own frames are few.
	strangers int
}

const (
	strangerWeight = 16
	mostStrangers  = 64 * strangerWeight
)

func kernelClock(why string) timer {
	if why != "" {
		why = ": " + why
	}
	return timer{name: "kernel" + why}
}

// time is a frame's, ns since the Unix epoch, where the frame was stamped by this clock.
func (c *timer) time(status uint32, stamp int64) (ns int64, known bool) {
	if c.nic != (status&unix.TP_STATUS_TS_RAW_HARDWARE != 0) {
		c.strangers += strangerWeight
		return 0, false
	}
	c.strangers = max(0, c.strangers-1)
	if c.nic {
		stamp += c.shift
	}
	return stamp, true
}

// chooseClock has the socket hand over the NIC's stamps where they are wanted and good.
func (s *Source) chooseClock(want Timestamps) timer {
	if want == TimestampsKernel {
		return kernelClock("")
	}
	c, err := s.nicClock(want == TimestampsNIC)
	if err != nil {
		return kernelClock(err.Error())
	}
	return c
}

// Reasons against the NIC's clock.
var (
	errNoStamps = errors.New("the NIC stamps no received frames")
	errNotAll   = errors.New("the NIC can stamp all received frames, and is not set to do so")
	errUnread   = errors.New("the NIC's clock cannot be read")
	errRunsFree = errors.New("the NIC's clock does not follow the host's")
	errNoFilter = errors.New("the driver does not tell which frames the NIC stamps")
)

// nicClock is the clock of a NIC that stamps every frame. Where it does not yet, or by a clock that follows nothing, force
// makes it the clock all the same.
func (s *Source) nicClock(force bool) (timer, error) {
	const needed = unix.SOF_TIMESTAMPING_RX_HARDWARE | unix.SOF_TIMESTAMPING_RAW_HARDWARE
	offer, err := unix.IoctlGetEthtoolTsInfo(s.fd, s.name)
	if err != nil || offer.So_timestamping&needed != needed || offer.Rx_filters&(1<<unix.HWTSTAMP_FILTER_ALL) == 0 {
		return timer{}, errNoStamps
	}
	p, err := readPHC(offer.Phc_index)
	if err != nil {
		return timer{}, err
	}
	if !p.follows && !force {
		return timer{}, errRunsFree
	}
	if err := s.stampAll(force); err != nil {
		return timer{}, err
	}
	if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_TIMESTAMP, unix.SOF_TIMESTAMPING_RAW_HARDWARE); err != nil {
		return timer{}, fmt.Errorf("ask for the NIC's stamps: %w", err)
	}
	return timer{nic: true, shift: p.shift, name: "NIC, " + p.name}, nil
}

// stampAll sees to it that the NIC stamps every frame. Only force may change how the NIC is set up, for all programs of
// the host; Close undoes it.
func (s *Source) stampAll(force bool) error {
	now, err := unix.IoctlGetHwTstamp(s.fd, s.name)
	switch {
	case err != nil:
		return errNoFilter
	case now.Rx_filter == unix.HWTSTAMP_FILTER_ALL:
		return nil
	case !force:
		return errNotAll
	}
	before, all := *now, *now
	all.Rx_filter = unix.HWTSTAMP_FILTER_ALL
	if err := unix.IoctlSetHwTstamp(s.fd, s.name, &all); err != nil {
		return fmt.Errorf("have the NIC stamp all frames: %w", err)
	}
	s.filter = &before
	if all.Rx_filter != unix.HWTSTAMP_FILTER_ALL {
		return errNotAll
	}
	return nil
}

// unstamp puts the NIC's filter back, unless somebody has changed it meanwhile. An interface that is gone needs it no more.
func (s *Source) unstamp() {
	if s.filter == nil {
		return
	}
	if now, err := unix.IoctlGetHwTstamp(s.fd, s.name); err == nil && now.Rx_filter == unix.HWTSTAMP_FILTER_ALL {
		_ = unix.IoctlSetHwTstamp(s.fd, s.name, s.filter)
	}
	s.filter = nil
}

// giveUpNIC goes over to the kernel's clock. What the ring still holds with stamps of the NIC has no time.
func (s *Source) giveUpNIC() {
	// Were it refused, frames would still come with the NIC's stamps, and have no time.
	_ = unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_TIMESTAMP, 0)
	s.clock = kernelClock("more than a few frames came without the NIC's stamp")
	s.lenient = false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timed = s.clock.name
}
