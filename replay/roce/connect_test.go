package roce_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/replay/roce"
)

// dialogue is two endpoints whose frames the test carries, and may lose.
type dialogue struct {
	t    *testing.T
	ends [2]*roce.Endpoint
	now  time.Duration
	log  []string // messages of the connection manager that were sent, in capitals those that were lost
	lose func(message string) bool
}

func newDialogue(t *testing.T, accept func(*roce.ConnectRequest) (roce.QPConfig, mad.Reason)) *dialogue {
	t.Helper()
	d := &dialogue{t: t, now: time.Millisecond}
	for i := range d.ends {
		c := roce.DefaultConfig()
		c.Address = ownAddress
		if i == 1 {
			c.Address, c.Accept = peerAddress, accept
		}
		var err error
		if d.ends[i], err = roce.New(c); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// takes is an Accept that opens a QP of the server's own.
func takes(*roce.ConnectRequest) (roce.QPConfig, mad.Reason) {
	c := roce.DefaultQPConfig()
	c.QPN, c.ReceivePSN, c.MaxReadAtomic, c.MaxDestReadAtomic, c.MTU = peerQPN, 100, 4, 3, 4096
	return c, 0
}

// clientQP is what the client asks with.
func clientQP() roce.QPConfig {
	c := roce.DefaultQPConfig()
	c.QPN, c.Remote, c.ReceivePSN, c.MTU, c.RetryCount, c.RNRRetry = ownQPN, peerAddress, 200, mtu, 5, 6
	return c
}

func (d *dialogue) connect() *roce.QP {
	d.t.Helper()
	q, err := d.ends[0].Connect(d.now, clientQP(), 1<<24|6<<16|4420)
	if err != nil {
		d.t.Fatal(err)
	}
	return q
}

// carry passes frames on until nothing is left to send at this time.
func (d *dialogue) carry() {
	d.t.Helper()
	for moved := true; moved; {
		moved = false
		for i, e := range d.ends {
			for {
				out, ok := e.Poll(d.now, nil)
				if !ok {
					break
				}
				moved = true
				name := message(d.t, out.Frame)
				if d.lose != nil && d.lose(name) {
					d.log = append(d.log, "lost "+name)
					continue
				}
				d.log = append(d.log, name)
				d.ends[1-i].Handle(d.now, &out)
			}
		}
	}
}

func message(t *testing.T, frame []byte) string {
	t.Helper()
	var p dissector.Packet
	if err := dissector.Decode(frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p); err != nil {
		t.Fatal(err)
	}
	var h mad.Header
	if p.BTH.DestinationQP != 1 {
		return describe(&p)
	}
	if _, err := h.Decode(p.Payload()); err != nil {
		t.Fatal(err)
	}
	return h.Message().String()
}

func (d *dialogue) expect(events [2]string, log ...string) {
	d.t.Helper()
	if got := strings.Join(d.log, ", "); got != strings.Join(log, ", ") {
		d.t.Errorf("messages are %s, want %s", got, strings.Join(log, ", "))
	}
	d.log = nil
	for i, e := range d.ends {
		var kinds []string
		var ev roce.Event
		for e.NextEvent(&ev) {
			kinds = append(kinds, ev.Kind.String())
		}
		if got := strings.Join(kinds, ", "); got != events[i] {
			d.t.Errorf("events of end %d are %q, want %q", i, got, events[i])
		}
	}
}

func TestConnectTransferDisconnect(t *testing.T) {
	d := newDialogue(t, takes)
	q := d.connect()
	if err := q.Post(write(1)); !errors.Is(err, roce.ErrNotReady) {
		t.Errorf("work before the connection: %v", err)
	}
	d.carry()
	d.expect([2]string{"connected", "accepted"}, "REQ", "REP", "RTU")
	server := d.ends[1].QP(peerQPN)
	a, b := q.Config(), server.Config()
	if a.RemoteQPN != peerQPN || a.SendPSN != 100 || a.MaxReadAtomic != 3 {
		t.Errorf("the client has %+v", a)
	}
	if b.RemoteQPN != ownQPN || b.SendPSN != 200 || b.MTU != mtu || b.RetryCount != 5 || b.RNRRetry != 6 || b.MaxReadAtomic != 4 {
		t.Errorf("the server has %+v", b)
	}
	if err := server.PostReceive(1, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := q.Post(send(3)); err != nil {
		t.Fatal(err)
	}
	d.carry()
	d.expect([2]string{}, "SEND Only 100 3B ack?", "ACK 100 msn 1")
	if err := q.Disconnect(d.now); err != nil {
		t.Fatal(err)
	}
	d.carry()
	d.expect([2]string{"disconnected", "disconnected"}, "DREQ", "DREP")
	if d.ends[0].QP(ownQPN) != nil || d.ends[1].QP(peerQPN) != nil {
		t.Error("a QP is left")
	}
}

// Each message of the connection manager may be lost once.
func TestConnectionManagerRepeats(t *testing.T) {
	for _, c := range []struct {
		lost string
		log  []string
	}{
		{"REQ", []string{"lost REQ", "REQ", "REP", "RTU", "DREQ", "DREP"}},
		{"REP", []string{"REQ", "lost REP", "REQ", "REP", "REP", "RTU", "RTU", "DREQ", "DREP"}},
		{"RTU", []string{"REQ", "REP", "lost RTU", "REP", "RTU", "DREQ", "DREP"}},
		{"DREQ", []string{"REQ", "REP", "RTU", "lost DREQ", "DREQ", "DREP"}},
		{"DREP", []string{"REQ", "REP", "RTU", "DREQ", "lost DREP", "DREQ", "DREP"}},
	} {
		t.Run(c.lost, func(t *testing.T) {
			d := newDialogue(t, takes)
			lost := false
			d.lose = func(name string) bool {
				if lost || name != c.lost {
					return false
				}
				lost = true
				return true
			}
			settle := func() {
				for range 3 {
					d.carry()
					if at := min(d.ends[0].NextTimeout(), d.ends[1].NextTimeout()); at != roce.Never {
						d.now = max(d.now, at)
					}
				}
			}
			q := d.connect()
			settle()
			if err := q.Disconnect(d.now); err != nil {
				t.Fatal(err)
			}
			settle()
			d.expect([2]string{"connected, disconnected", "accepted, disconnected"}, c.log...)
		})
	}
}

func TestConnectionIsRejected(t *testing.T) {
	d := newDialogue(t, nil)
	d.connect()
	d.carry()
	d.expect([2]string{"rejected", ""}, "REQ", "REJ")
	d = newDialogue(t, func(*roce.ConnectRequest) (roce.QPConfig, mad.Reason) { return roce.QPConfig{}, mad.ReasonConsumer })
	d.connect()
	d.carry()
	var ev roce.Event
	if !d.ends[0].NextEvent(&ev) || !errors.Is(ev.Err, roce.ErrRejected) || !strings.Contains(ev.Err.Error(), mad.ReasonConsumer.String()) {
		t.Errorf("event is %+v", ev)
	}
}

func TestConnectionManagerGivesUp(t *testing.T) {
	d := newDialogue(t, takes)
	d.lose = func(string) bool { return true }
	d.connect()
	tries := 0
	for ; tries < 100; tries++ {
		d.carry()
		at := d.ends[0].NextTimeout()
		if at == roce.Never {
			break
		}
		d.now = at
	}
	if len(d.log) != 16 {
		t.Errorf("%d messages, want 16", len(d.log))
	}
	d.log = nil
	d.expect([2]string{"rejected", ""})
}

// The first request stands for an RTU that was lost.
func TestFirstRequestStandsForRTU(t *testing.T) {
	d := newDialogue(t, takes)
	d.lose = func(name string) bool { return name == "RTU" }
	q := d.connect()
	d.carry()
	if err := q.Post(read(0)); err != nil {
		t.Fatal(err)
	}
	d.carry()
	d.expect([2]string{"connected", "accepted"}, "REQ", "REP", "lost RTU", "RDMA READ Request 100 at 4096+0 ack?", "RDMA READ Response Only 100 0B msn 1")
}
