package softmetaroce

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// A path whose way is broken takes another source port and works again; one that is dead is left; nobody notices.
func TestBrokenPaths(t *testing.T) {
	for name, broken := range map[string]Break{
		"re-path": {Path: 1, After: 30, Route: true},
		"failure": {Path: 1, After: 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := (&run{
				transfer: Transfer{Operation: "write", Size: 8 << 20, Message: 1 << 16, Streams: 2, Depth: 4, Seed: 1},
				change: func(side int, c *Config) {
					c.Paths, c.RTOMax = 4, 20*time.Millisecond
					if side == 0 {
						c.Impairment.Breaks = []Break{broken}
						c.Impairment.Delay = time.Millisecond // so that the transfer outlasts the failure
						c.MaxWindow = 8
					}
				},
			}).must(t)
			s := client.Connection.Transport
			if s.PathFailures == 0 || s.Repaths == 0 || s.Moved == 0 || client.Impairment.Swallowed == 0 {
				t.Errorf("%+v, %+v", s, client.Impairment)
			}
			if ports := client.Connection.Sent.Paths[1].SourcePorts; len(ports) < 2 {
				t.Errorf("path 1 used the ports %v", ports)
			}
		})
	}
}

// A mark that is set at one end is read at the other, and the sender hears of it.
func TestMarksAreSetAndRead(t *testing.T) {
	t.Parallel()
	client, server := (&run{
		transfer: Transfer{Operation: "write", Size: 4 << 20, Message: 1 << 16, Streams: 2, Depth: 4, Seed: 1},
		change: func(side int, c *Config) {
			if side == 0 {
				c.Impairment.Mark = 0.1
			}
		},
	}).must(t)
	if client.Impairment.Marked == 0 || server.Connection.Received.CE != client.Impairment.Marked {
		t.Errorf("%d were marked, %d arrived marked", client.Impairment.Marked, server.Connection.Received.CE)
	}
	if client.Connection.Transport.Cuts == 0 {
		t.Error("the sender has not heard of the marks")
	}
}

// A SEND that finds no buffer is refused, and sent again when the peer is ready.
func TestSendWaitsForBuffers(t *testing.T) {
	t.Parallel()
	client, server := (&run{
		transfer: Transfer{Operation: "send", Size: 1 << 20, Message: 1 << 16, Streams: 2, Depth: 4, Seed: 1},
		change:   func(_ int, c *Config) { c.Impairment.Unready = 3 },
	}).must(t)
	if server.Connection.Sent.NAKs < 3 || client.Connection.Transport.NAKs == 0 {
		t.Errorf("%d NAKs were sent, %d taken", server.Connection.Sent.NAKs, client.Connection.Transport.NAKs)
	}
}

// Where nobody serves, the error says so; a server says what it does not take.
func TestRefusals(t *testing.T) {
	t.Parallel()
	transfer := Transfer{Operation: "write", Size: 1 << 20, Message: 1 << 16, Streams: 2, Depth: 4, Seed: 1}
	config := DefaultConfig()
	config.RTOInitial, config.RTOMin = time.Millisecond, time.Millisecond
	config.Addresses = []netip.Addr{loopback()}
	c, err := NewClient(config, transfer, loopback())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("nobody serves: %v", err)
	}
	_, _, err = (&run{transfer: transfer, change: func(side int, c *Config) {
		if side == 1 {
			c.Memory = 1 << 16
		}
	}}).do(t)
	if !errors.Is(err, ErrRefused) {
		t.Errorf("more memory than there is: %v", err)
	}
	_, _, err = (&run{transfer: transfer, change: func(side int, c *Config) {
		if side == 1 {
			c.Streams = 2
		}
	}}).do(t)
	if !errors.Is(err, ErrRefused) {
		t.Errorf("more streams than there are: %v", err)
	}
	for _, bad := range []Transfer{{Operation: "push", Size: 1, Message: 1, Streams: 1, Depth: 1}, {Operation: "write"}} {
		if _, err := NewClient(config, bad, loopback()); !errors.Is(err, ErrTransfer) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for _, a := range []string{"0.0.0.0", "::", "fe80::1%eth0"} {
		config.Addresses = []netip.Addr{netip.MustParseAddr(a)}
		if _, err := NewServer(config, nil); !errors.Is(err, ErrAddress) {
			t.Errorf("listen on %s: %v", a, err)
		}
	}
}

// A transfer that is called off ends at both ends, and the connection with it.
func TestStopInTheMiddle(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	configs := [2]Config{DefaultConfig(), DefaultConfig()}
	for i := range configs {
		configs[i].Seed, configs[i].Addresses = uint64(i+1), []netip.Addr{loopback()}
	}
	reports := make(chan *Report, 1)
	s, err := NewServer(configs[1], func(r *Report) { reports <- r })
	if err != nil {
		t.Fatal(err)
	}
	serving := spawn(func() {
		if err := s.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	c, err := NewClient(configs[0], Transfer{Operation: "write", Size: 1 << 40, Message: 1 << 20, Streams: 4, Depth: 4, Seed: 1}, configs[1].Addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	called, callOff := context.WithCancel(ctx)
	defer callOff()
	watching := spawn(func() {
		for c.Live().Done.Load() < 1<<20 && called.Err() == nil {
			select { // as often as the scheduler likes
			case <-called.Done():
			default:
			}
		}
		callOff()
	})
	report, err := c.Run(called)
	<-watching
	if !errors.Is(err, context.Canceled) || report == nil || report.Equal || report.Error == "" {
		t.Errorf("client: %v, %+v", err, report)
	}
	if r := <-reports; r.Equal || r.Error == "" {
		t.Errorf("server: %+v", r)
	}
	cancel()
	<-serving
}

// vanisher connects and then vanishes.
type vanisher struct{ connected bool }

var errVanished = errors.New("vanished")

func (v *vanisher) event(_ time.Duration, e *metaroce.Event) {
	v.connected = v.connected || e.Kind == metaroce.EventConnected
}

func (v *vanisher) completed(time.Duration, *metaroce.Completion) {}

func (v *vanisher) progress(time.Duration, bool) (pace, error) {
	if v.connected {
		return paceDone, errVanished
	}
	return paceIdle, nil
}

// What a peer that has vanished held is given back.
func TestVanishedPeersKeepNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served, vanishing := DefaultConfig(), DefaultConfig()
	served.Addresses, vanishing.Addresses = []netip.Addr{loopback()}, []netip.Addr{loopback()}
	served.Seed, vanishing.Seed = 1, 2
	served.IdleAfter, served.RTOInitial = 20*time.Millisecond, 2*time.Millisecond
	s, err := NewServer(served, nil)
	if err != nil {
		t.Fatal(err)
	}
	serving := spawn(func() {
		if err := s.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	p, err := open(vanishing, nil, &vanisher{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.endpoint.Connect(0, served.Addresses[0]); err != nil {
		t.Fatal(err)
	}
	if err := p.run(ctx); !errors.Is(err, errVanished) {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	for s.Live().Connections.Load() > 0 && t.Context().Err() == nil {
		runtime.Gosched()
	}
	cancel()
	<-serving
}
