package compliance

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
)

// Errors of a run.
var (
	ErrUnsupported = errors.New("the compliance suite needs Linux")
	ErrUnreachable = errors.New("no answer")
)

// lab is the suite's end: one socket that receives, as the profile has it, and some that send, each with a source port
// of its own. One goroutine uses it.
type lab struct {
	ctx     context.Context //nolint:containedctx // ends waits in the middle of scenarios
	config  *Config
	inbox   *socket
	senders []*socket
	random  *rand.Rand
	start   time.Time
	stamp   uint32        // timestamp that was sent last
	late    time.Duration // by how much the suite woke or read too late, the worst of an attempt
}

func newLab(ctx context.Context, config *Config) (*lab, error) {
	l := &lab{
		ctx: ctx, config: config, start: time.Now(), //nolint:forbidigo // what is sent and awaited needs a clock
		random: rand.New(rand.NewPCG(config.Seed, 0x636f_6d70)), //nolint:gosec // repeatable by its seed
	}
	var err error
	l.inbox, err = open(ctx, netip.AddrPortFrom(config.Local, config.Target.Port()))
	return l, err
}

func (l *lab) close() error {
	var errs []error
	if l.inbox != nil {
		errs = append(errs, l.inbox.close())
	}
	for _, s := range l.senders {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// now is the time since the lab was opened.
func (l *lab) now() time.Duration { return time.Since(l.start) }

// sender is the socket number i.
func (l *lab) sender(i int) (*socket, error) {
	for len(l.senders) <= i {
		s, err := open(l.ctx, netip.AddrPortFrom(l.config.Local, 0))
		if err != nil {
			return nil, err
		}
		l.senders = append(l.senders, s)
	}
	return l.senders[i], nil
}

// timestamp is the clock in ns, another each time, so that an echo tells which packet it is of.
func (l *lab) timestamp() uint32 {
	t := uint32(l.now())
	if int32(t-l.stamp) <= 0 {
		t = l.stamp + 1
	}
	l.stamp = t
	return t
}

// arrival is a datagram that has come.
type arrival struct {
	data   []byte
	source netip.AddrPort
	ecn    dissector.ECN
	at     time.Time // when the kernel took it; zero: it does not say
}

// moment is when a datagram came, since the lab was opened. What was read late has not come late.
func (l *lab) moment(in *arrival) time.Duration {
	read := time.Now() //nolint:forbidigo // see newLab
	at := read.Sub(l.start)
	if waited := read.Sub(in.at); !in.at.IsZero() && waited > 0 && waited < at {
		l.late = max(l.late, waited)
		at -= waited
	}
	return at
}

// receive waits until the deadline for a datagram of the target.
func (l *lab) receive(deadline time.Duration) (in arrival, ok bool, err error) {
	for {
		if err := l.ctx.Err(); err != nil {
			return in, false, err
		}
		// In slices, so that a context that ends is noticed.
		now := l.now()
		until := min(deadline, now+100*time.Millisecond)
		in, ok, err = l.inbox.receive(l.start.Add(until))
		switch {
		case err != nil:
			return in, false, err
		case ok && in.source.Addr() == l.config.Target.Addr():
			return in, true, nil
		case ok:
			continue
		}
		if until > now {
			l.late = max(l.late, l.now()-until)
		}
		if until >= deadline {
			return in, false, nil
		}
	}
}
