package metaroce_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// unconnected is an endpoint without a connection.
func unconnected(t *testing.T, change func(c *metaroce.Config)) *script {
	t.Helper()
	s := &script{t: t, memory: metaroce.Regions{}, now: time.Second}
	config := s.config()
	config.MTU, config.LinkRate, config.MaxWindow = 1024, 400_000, 64
	if change != nil {
		change(&config)
	}
	s.start(config)
	return s
}

func (s *script) connect() emitted {
	s.t.Helper()
	c, err := s.e.Connect(s.now, addressB)
	if err != nil {
		s.t.Fatal(err)
	}
	s.c = c
	s.local = c.Local()
	return s.one(mr0.TypeConnReq)
}

// answer is a CONN_REP to the request.
func (s *script) answer(nonce uint64) metaroce.Verdict {
	s.t.Helper()
	s.peer = mr0.CONN{
		SourceConnID: 0xb, PathCount: 3, PlaneCount: 1, MTU: 512, InitialPSN: 70, StreamCount: 4, MaxWindow: 32, Nonce: nonce,
	}
	return s.feed(mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRep}, CONN: s.peer}, nil)
}

func TestConnectionRequestAndReply(t *testing.T) {
	s := unconnected(t, nil)
	req := s.connect()
	if req.CH.DestConnID != 0 || req.CONN != s.c.Local() || req.CONN.SourceConnID == 0 || req.CONN.Nonce == 0 {
		t.Errorf("request is %+v %+v", req.CH, req.CONN)
	}
	if req.CONN.LinkRate != 400_000 || req.CONN.PathCount != 8 || req.CONN.MTU != 1024 || req.CONN.StreamCount != 8 || req.CONN.MaxWindow != 64 {
		t.Errorf("request says %+v", req.CONN)
	}
	if got := s.answer(req.CONN.Nonce + 1); got != metaroce.VerdictInvalid || s.c.State() != metaroce.StateConnecting {
		t.Errorf("reply with another nonce: %s, %s", got, s.c.State())
	}
	if got := s.answer(req.CONN.Nonce); got != metaroce.VerdictAccepted || s.c.State() != metaroce.StateOpen {
		t.Fatalf("reply: %s, %s", got, s.c.State())
	}
	if diff := cmp.Diff([]metaroce.EventKind{metaroce.EventConnected}, kinds(s.events())); diff != "" {
		t.Error(diff)
	}
	// The smaller MTU and window count, and the peer's id is the destination from now on.
	s.post(metaroce.WorkRequest{Data: make([]byte, 1000), RKey: 1})
	out := s.poll()
	if len(out) != 2 || len(out[0].payload) != 512 || out[0].CH.DestConnID != 0xb || s.c.MTU() != 512 {
		t.Errorf("sent %s", names(out))
	}
	if got := s.answer(req.CONN.Nonce); got != metaroce.VerdictDuplicate {
		t.Errorf("repeated reply: %s", got)
	}
}

func kinds(events []metaroce.Event) []metaroce.EventKind {
	var list []metaroce.EventKind
	for _, ev := range events {
		list = append(list, ev.Kind)
	}
	return list
}

// A lost request is sent again after rto_initial, doubling, five times.
func TestConnectionRequestIsRepeatedFiveTimes(t *testing.T) {
	s := unconnected(t, nil)
	req := s.connect()
	begin := s.now
	var at []time.Duration
	for range 2000 {
		s.now += time.Millisecond
		for _, x := range s.poll() {
			if x.CH.Type != mr0.TypeConnReq || x.CONN != req.CONN {
				t.Errorf("sent %s %+v", x.CH.Type, x.CONN)
			}
			at = append(at, s.now-begin)
		}
	}
	const ms = time.Millisecond
	if diff := cmp.Diff([]time.Duration{10 * ms, 30 * ms, 70 * ms, 150 * ms, 310 * ms}, at); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]metaroce.EventKind{metaroce.EventTimedOut}, kinds(s.events())); diff != "" || s.e.Connections() != 0 {
		t.Errorf("%d connections are left; %s", s.e.Connections(), diff)
	}
}

func (s *script) request(conn mr0.CONN, how ...as) metaroce.Verdict {
	s.t.Helper()
	return s.feed(mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnReq}, CONN: conn}, nil, how...)
}

var request = mr0.CONN{
	SourceConnID: 0xb, PathCount: 3, PlaneCount: 1, MTU: 512, InitialPSN: 70, StreamCount: 4, MaxWindow: 32, Nonce: 42,
}

// A request that is repeated goes by another plane, whose way may be whole.
func TestRepeatedRequestsGoByAllPlanes(t *testing.T) {
	second, there := netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.2")
	s := unconnected(t, func(c *metaroce.Config) { c.Planes = append(c.Planes, second) })
	c, err := s.e.Connect(s.now, addressB, there)
	if err != nil {
		t.Fatal(err)
	}
	s.c = c
	for i, x := range s.advance(100 * ms)[:4] {
		plane := i % 2
		from, to := []netip.Addr{addressA, second}[plane], []netip.Addr{addressB, there}[plane]
		if x.Source.Addr() != from || x.Destination.Addr() != to || int(x.CH.PlaneID) != plane {
			t.Errorf("request %d went from %s to %s in plane %d", i, x.Source, x.Destination, x.CH.PlaneID)
		}
	}
}

func TestAcceptingEchoesTheNonceAndRepeatsItself(t *testing.T) {
	s := unconnected(t, nil)
	if got := s.request(request); got != metaroce.VerdictAccepted {
		t.Fatalf("request: %s", got)
	}
	first := s.one(mr0.TypeConnRep)
	if first.CH.DestConnID != 0xb || first.CONN.Nonce != 42 || first.CONN.SourceConnID == 0 {
		t.Errorf("reply is %+v %+v", first.CH, first.CONN)
	}
	if got := s.request(request); got != metaroce.VerdictDuplicate {
		t.Errorf("repeated request: %s", got)
	}
	if again := s.one(mr0.TypeConnRep); again.CONN != first.CONN || s.e.Connections() != 1 {
		t.Errorf("second reply is %+v", again.CONN)
	}
	if diff := cmp.Diff([]metaroce.EventKind{metaroce.EventAccepted}, kinds(s.events())); diff != "" {
		t.Error(diff)
	}
}

func TestRejections(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(c *metaroce.Config)
		how    as
		want   mr0.RejectReason
	}{
		{"partition", nil, func(p *mr0.Packet, _ *metaroce.Datagram) { p.CH.PartitionKey = 0x8001 }, mr0.RejectReasonPartition},
		{"MTU", func(c *metaroce.Config) { c.MinMTU = 1024 }, nil, mr0.RejectReasonMTU},
		{"the application", func(c *metaroce.Config) {
			c.Accept = func(r metaroce.ConnectionRequest) mr0.RejectReason {
				if r.CONN != request || r.Source.Addr() != addressB {
					return 0
				}
				return mr0.RejectReasonBusy
			}
		}, nil, mr0.RejectReasonBusy},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := unconnected(t, x.change)
			how := []as{}
			if x.how != nil {
				how = append(how, x.how)
			}
			if got := s.request(request, how...); got != metaroce.VerdictRefused {
				t.Errorf("request: %s", got)
			}
			rej := s.one(mr0.TypeConnRej)
			if rej.CH.DestConnID != 0xb || rej.REJ != (mr0.REJ{Reason: x.want, Nonce: 42}) || s.e.Connections() != 0 {
				t.Errorf("rejection is %+v %+v", rej.CH, rej.REJ)
			}
		})
	}
	t.Run("no resources", func(t *testing.T) {
		s := unconnected(t, func(c *metaroce.Config) { c.MaxConnections = 1 })
		s.request(request)
		s.one(mr0.TypeConnRep)
		other := request
		other.Nonce++
		s.request(other)
		if rej := s.one(mr0.TypeConnRej); rej.REJ.Reason != mr0.RejectReasonNoResources || rej.REJ.Nonce != 43 {
			t.Errorf("rejection is %+v", rej.REJ)
		}
	})
}

func TestRejectionEndsTheRequest(t *testing.T) {
	s := unconnected(t, nil)
	req := s.connect()
	rej := mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRej}, REJ: mr0.REJ{Reason: mr0.RejectReasonMTU, Nonce: req.CONN.Nonce + 1}}
	if got := s.feed(rej, nil); got != metaroce.VerdictInvalid {
		t.Errorf("with another nonce: %s", got)
	}
	rej.REJ.Nonce--
	if got := s.feed(rej, nil); got != metaroce.VerdictAccepted {
		t.Errorf("rejection: %s", got)
	}
	events := s.events()
	if len(events) != 1 || events[0].Kind != metaroce.EventRejected || events[0].Reject != mr0.RejectReasonMTU || s.e.Connections() != 0 {
		t.Errorf("events are %+v", events)
	}
	if out := s.advance(time.Second); len(out) > 0 {
		t.Errorf("sent %s afterwards", names(out))
	}
}

func TestDisconnectIsAnsweredByDisconnect(t *testing.T) {
	s := newScript(t, nil)
	s.post(metaroce.WorkRequest{ID: 9, Data: []byte("x"), RKey: 1})
	s.poll()
	disc := mr0.Packet{CH: mr0.CH{Type: mr0.TypeDisconnect}, DISC: mr0.DISC{SourceConnID: 0xb, Reason: mr0.DisconnectReasonError}}
	wrong := disc
	wrong.DISC.SourceConnID = 0xc
	if got := s.feed(wrong, nil); got != metaroce.VerdictInvalid {
		t.Errorf("of another connection: %s", got)
	}
	s.feed(disc, nil)
	if got := s.one(mr0.TypeDisconnect); got.CH.DestConnID != 0xb || got.DISC.SourceConnID != 0xa {
		t.Errorf("answer is %+v", got.DISC)
	}
	s.feed(disc, nil) // the answer was lost
	s.one(mr0.TypeDisconnect)
	events := s.events()
	if len(events) != 1 || events[0].Kind != metaroce.EventDisconnected || events[0].Disconnect != mr0.DisconnectReasonError {
		t.Errorf("events are %+v", events)
	}
	if done := s.completions(); len(done) != 1 || done[0].ID != 9 || done[0].Err != metaroce.ErrFlushed { //nolint:errorlint // the very value
		t.Errorf("completions are %+v", done)
	}
	if out := s.advance(10 * time.Second); len(out) > 0 || s.e.Connections() != 0 {
		t.Errorf("sent %s, %d connections left", names(out), s.e.Connections())
	}
}

func TestDisconnectIsRepeatedUntilAnswered(t *testing.T) {
	s := newScript(t, nil)
	s.c.Disconnect(s.now)
	if got := s.one(mr0.TypeDisconnect); got.DISC != (mr0.DISC{SourceConnID: 0xa}) {
		t.Errorf("%+v", got.DISC)
	}
	if out := s.advance(25 * time.Millisecond); len(out) != 1 || out[0].CH.Type != mr0.TypeDisconnect {
		t.Errorf("sent %s", names(out))
	}
	s.feed(mr0.Packet{CH: mr0.CH{Type: mr0.TypeDisconnect}, DISC: mr0.DISC{SourceConnID: 0xb}}, nil)
	if out := s.advance(time.Second); len(out) > 0 || s.c.State() != metaroce.StateClosed || s.e.Connections() != 0 {
		t.Errorf("sent %s, %s", names(out), s.c.State())
	}
}

func TestConfigurationErrorsAreAllNamed(t *testing.T) {
	config := metaroce.DefaultConfig()
	config.MTU, config.MinMTU, config.MaxWindow = 1000, 2000, 257
	_, err := metaroce.New(config)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"0 planes", "no source of randomness", "MTU 1000", "least MTU 2000", "max_window 257"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
}
