package softmetaroce

import (
	"bytes"
	"context"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// go test ./replay/softmetaroce -run TestKeptCaptures -captures makes them again; times differ each time.
var writeCaptures = flag.Bool("captures", false, "make the captures in testdata/metaroce again")

// keptCapture is a situation on a network of 127.0.0.1 and its like, MTU 256 so that the file is small.
type keptCapture struct {
	name      string
	at        int // whose capture is kept, 0: the sender's
	operation string
	size      uint64
	paths     int
	senders   int
	impair    [2]string
	shows     func(s *seen) bool
}

var keptCaptures = []keptCapture{
	{name: "clean", operation: "write", size: 80_000, paths: 4, shows: func(s *seen) bool { return s.total().Retransmissions == 0 }},
	{name: "loss", operation: "write", size: 90_000, paths: 4, impair: [2]string{"loss=1%", "loss=1%"}, shows: func(s *seen) bool { return s.total().Retransmissions > 0 }},
	{name: "incast", at: 1, operation: "write", size: 8_000, paths: 2, senders: 8, shows: func(s *seen) bool { return len(s.directions) >= 16 }},
	{name: "path-failure", operation: "write", size: 60_000, paths: 4, impair: [2]string{"blackhole=2@12"}, shows: func(s *seen) bool { return s.total().Probes > 0 && s.ports() > 1 }},
	{name: "re-path", operation: "write", size: 60_000, paths: 4, impair: [2]string{"break=1@12"}, shows: func(s *seen) bool { return s.ports() > 1 }},
	{name: "duplicate", at: 1, operation: "send", size: 60_000, paths: 4, impair: [2]string{"duplicate=5%"}, shows: func(s *seen) bool { return s.packets > 260 }},
	{name: "nak", operation: "send", size: 40_000, paths: 4, impair: [2]string{"", "unready=4"}, shows: func(s *seen) bool { return s.total().NAKs >= 4 && s.total().Retransmissions >= 1 }},
}

func (s *seen) total() (c Counts) {
	for _, d := range s.directions {
		sum(&c, d.Counts)
		c.ACKs += d.ACKs
		c.NAKs += d.NAKs
	}
	return c
}

// ports is the most source ports that a path has had.
func (s *seen) ports() (n int) {
	for _, d := range s.directions {
		for _, p := range d.Paths {
			n = max(n, len(p.SourcePorts))
		}
	}
	return n
}

// The captures that other packages' tests read show what their names say.
func TestKeptCaptures(t *testing.T) {
	for _, k := range keptCaptures {
		t.Run(k.name, func(t *testing.T) {
			name := filepath.Join("..", "..", "testdata", "metaroce", k.name+".pcap")
			if *writeCaptures {
				if err := os.WriteFile(name, k.record(t), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(file) >= 200_000 {
				t.Errorf("%d bytes are too much", len(file))
			}
			if s := read(t, bytes.NewReader(file), nil); !k.shows(s) {
				t.Errorf("does not show it: %d packets, %+v, %d ports", s.packets, s.total(), s.ports())
			}
		})
	}
}

// record makes the capture.
func (k *keptCapture) record(t *testing.T) []byte {
	t.Helper()
	var kept bytes.Buffer
	config := func(side, sender int) Config {
		c := DefaultConfig()
		c.Seed = uint64(1000*side + sender + 1)
		c.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + side*(1+sender))})}
		c.Paths, c.MTU, c.RTOMin, c.RTOMax = k.paths, 256, 2*time.Millisecond, 4*time.Millisecond
		c.InitialWindow, c.MaxWindow = 4, 8
		m, err := ParseImpairment(k.impair[1-side])
		if side == 1 {
			m, err = ParseImpairment(k.impair[0])
			m.Delay = 100 * time.Microsecond
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Impairment = m
		return c
	}
	served := config(0, 0)
	if k.at == 1 {
		served.Capture = &kept
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s, err := NewServer(served, nil)
	if err != nil {
		t.Fatal(err)
	}
	serving := spawn(func() {
		if err := s.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	var sending []<-chan struct{}
	for i := range max(1, k.senders) {
		c := config(1, i)
		if k.at == 0 {
			c.Capture = &kept
		}
		sending = append(sending, spawn(func() {
			transfer := Transfer{Operation: k.operation, Size: k.size, Message: 4096, Streams: 2, Depth: 2, Seed: uint64(i)}
			client, err := NewClient(c, transfer, served.Addresses[0])
			if err == nil {
				_, err = client.Run(ctx)
			}
			if err != nil {
				t.Error(err)
			}
		}))
	}
	for _, done := range sending {
		<-done
	}
	stop()
	<-serving
	return kept.Bytes()
}
