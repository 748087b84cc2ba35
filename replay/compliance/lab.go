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
	stamp   uint32 // timestamp that was sent last
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

// receive waits until the deadline for a datagram of the target.
func (l *lab) receive(deadline time.Duration) (data []byte, source netip.AddrPort, ecn dissector.ECN, ok bool, err error) {
	for {
		if err := l.ctx.Err(); err != nil {
			return nil, source, 0, false, err
		}
		// In slices, so that a context that ends is noticed.
		until := min(deadline, l.now()+100*time.Millisecond)
		data, source, ecn, ok, err = l.inbox.receive(l.start.Add(until))
		switch {
		case err != nil:
			return nil, source, 0, false, err
		case ok && source.Addr() == l.config.Target.Addr():
			return data, source, ecn, true, nil
		case !ok && until >= deadline:
			return nil, source, 0, false, nil
		}
	}
}
