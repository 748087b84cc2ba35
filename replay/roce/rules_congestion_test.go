package roce_test

import (
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/roce"
)

// marked gives the endpoint a request that a switch has marked.
func (s *script) marked(qpn, psn uint32) {
	s.t.Helper()
	f := frame(infiniband.RCWriteOnly, psn, 0)
	f.ECN, f.BTH.DestinationQP = dissector.ECNCE, qpn
	s.verdict(s.handle(f), roce.VerdictAccepted)
}

// Annex A17: who is told of congestion, how often, and what it does.
func TestCongestionRules(t *testing.T) {
	const interval = 50 * time.Microsecond
	scope := func(scope roce.CNPScope) func(*roce.Config, *roce.QPConfig) {
		return func(c *roce.Config, _ *roce.QPConfig) { c.CNPScope, c.CNPInterval = scope, interval }
	}
	// Two QPs to one peer, and one to another.
	others := func(s *script) {
		for i, remote := range []uint32{1, 2} {
			c := s.q.Config()
			c.QPN += uint32(i + 1)
			if remote == 2 {
				c.Remote = c.Remote.Next()
			}
			if _, err := s.e.Open(c); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	other := func(s *script, psn uint32) {
		f := frame(infiniband.RCWriteOnly, psn, 0)
		f.ECN, f.BTH.DestinationQP, f.Source = dissector.ECNCE, ownQPN+2, peerAddress.Next()
		s.verdict(s.handle(f), roce.VerdictAccepted)
	}
	proveRules(t, []rule{
		{"A17.9.3", "a mark is answered by a CNP before all else", scope(roce.CNPPerQP), func(s *script) {
			s.post(write(1))
			s.marked(ownQPN, 200)
			d, _ := s.e.Poll(s.now, nil)
			var p dissector.Packet
			if err := dissector.Decode(d.Frame, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p); err != nil {
				s.t.Fatal(err)
			}
			if !p.BTH.Opcode.IsCNP() || !p.BTH.BECN || p.BTH.DestinationQP != peerQPN || p.Network.DSCP != 48 || p.Network.ECN != dissector.ECNNotECT {
				s.t.Errorf("CNP is %+v in %+v", p.BTH, p.Network)
			}
		}},
		{"A17.9.3", "one QP is told once in an interval", scope(roce.CNPPerQP), func(s *script) {
			others(s)
			s.marked(ownQPN, 200)
			s.marked(ownQPN, 201)
			s.marked(ownQPN+1, 200)
			s.expect("CNP 0", "CNP 0")
			s.now += interval - 1
			s.marked(ownQPN, 202)
			s.expect()
			s.now++
			s.marked(ownQPN, 203)
			s.expect("CNP 0")
		}},
		{"A17.9.3", "one destination is told once in an interval, if it counts so", scope(roce.CNPPerDestination), func(s *script) {
			others(s)
			s.marked(ownQPN, 200)
			s.marked(ownQPN+1, 200)
			s.expect("CNP 0")
			other(s, 200)
			s.expect("CNP 0")
		}},
		{"A17.9.3", "a port tells once in an interval, if it counts so", scope(roce.CNPPerPort), func(s *script) {
			others(s)
			s.marked(ownQPN, 200)
			s.marked(ownQPN+1, 200)
			other(s, 200)
			s.expect("CNP 0")
			s.now += interval
			other(s, 201)
			s.expect("CNP 0")
		}},
		{"DCQCN", "a CNP halves the rate at first, and it recovers", nil, func(s *script) {
			line := s.q.Rate()
			s.handle(frame(infiniband.CNP, 0, 0))
			if got := s.q.Rate(); got != line/2 {
				s.t.Errorf("rate is %v after a CNP at %v", got, line)
			}
			s.post(write(100_000))
			first := len(s.sent())
			if first > 21 { // a microsecond's worth, lest a caller that wakes late falls behind
				s.t.Errorf("%d packets leave at once", first)
			}
			gap := s.wait(long)
			if want := time.Duration(float64(256+62) * 8e9 / s.q.Rate()); gap <= 0 || gap > 2*want {
				s.t.Errorf("the next may leave after %v, want about %v", gap, want)
			}
			s.now += 10 * time.Millisecond
			s.sent()
			if got := s.q.Rate(); got < 0.99*line {
				s.t.Errorf("rate is %v long after, line %v", got, line)
			}
		}},
		{"DCQCN", "without rate control a CNP changes nothing", func(c *roce.Config, _ *roce.QPConfig) { c.RateControl = false }, func(s *script) {
			line := s.q.Rate()
			s.verdict(s.handle(frame(infiniband.CNP, 0, 0)), roce.VerdictAccepted)
			if s.q.Rate() != line || s.q.Statistics().CNPsReceived != 1 {
				s.t.Error("it did, or was not counted")
			}
		}},
		{"RFC 3168", "requests and READ responses are ECN-capable, answers and CNPs are not", nil, func(s *script) {
			s.post(write(1))
			s.read(200, keyAll, 0, 4)
			s.request(infiniband.RCWriteOnly, 201, 0, 0)
			want := map[infiniband.Opcode]dissector.ECN{
				infiniband.RCWriteOnly: dissector.ECNECT0, infiniband.RCReadResponseOnly: dissector.ECNECT0, infiniband.RCAcknowledge: dissector.ECNNotECT,
			}
			for range want {
				d, _ := s.e.Poll(s.now, nil)
				if opcode := infiniband.Opcode(d.Frame[14+20+8]); want[opcode] != d.ECN || d.Frame[15]&3 != byte(d.ECN) {
					s.t.Errorf("%v has mark %v", opcode, d.ECN)
				}
			}
		}},
	})
}
