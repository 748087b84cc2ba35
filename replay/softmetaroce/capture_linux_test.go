package softmetaroce

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// seen is what the dissector finds in a capture, by connection id of the packets' receiver.
type seen struct {
	directions map[uint32]*Direction
	packets    int
}

func (s *seen) direction(id uint32) *Direction {
	d := s.directions[id]
	if d == nil {
		d = &Direction{Paths: []PathCounts{}, Streams: []StreamCounts{}}
		s.directions[id] = d
	}
	return d
}

// read counts the packets of a capture with nothing but what the dissector says. saw, when set, is told of each.
func read(t *testing.T, file io.Reader, saw func(p *dissector.Packet)) *seen {
	t.Helper()
	source, err := pcapfile.New(file, "capture", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	s := &seen{directions: map[uint32]*Direction{}}
	var b capture.Batch
	var p dissector.Packet
	for {
		err := source.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Frames {
			f := &b.Frames[i]
			meta := dissector.Meta{Number: f.Number, OriginalLength: f.OriginalLength, LinkType: dissector.LinkType(f.LinkType)}
			if err := dissector.Decode(f.Data, meta, &p); err != nil {
				t.Fatalf("packet %d: %v", f.Number, err)
			}
			if p.Protocol != dissector.ProtocolMetaRoCE {
				continue // of the interface itself, such as neighbour discovery
			}
			if state := dissector.VerifyICRC(&p); state != dissector.ICRCGood {
				t.Fatalf("packet %d: ICRC %v", f.Number, state)
			}
			s.packets++
			s.add(&p)
			if saw != nil {
				saw(&p)
			}
		}
	}
	for _, d := range s.directions {
		slices.SortFunc(d.Paths, func(a, b PathCounts) int { return int(a.Path) - int(b.Path) })
		slices.SortFunc(d.Streams, func(a, b StreamCounts) int { return int(a.Stream) - int(b.Stream) })
	}
	return s
}

// add is written apart from the peer's own counting, so that one checks the other.
func (s *seen) add(p *dissector.Packet) {
	in := &p.MetaRoCE.MR0
	d := s.direction(in.CH.DestConnID)
	bytes := uint64(p.Network.TotalLength)
	path := func() *PathCounts {
		i := slices.IndexFunc(d.Paths, func(x PathCounts) bool { return x.Path == in.CH.PathID })
		if i < 0 {
			d.Paths = append(d.Paths, PathCounts{Path: in.CH.PathID, SourcePorts: []uint16{}})
			i = len(d.Paths) - 1
		}
		return &d.Paths[i]
	}
	switch {
	case in.CH.Type == mr0.TypeACK:
		d.ACKs++
		path().ACKs++
	case in.CH.Type == mr0.TypeNAK:
		d.NAKs++
		path().NAKs++
	case in.CH.Type.Sequenced():
		x := path()
		if !slices.Contains(x.SourcePorts, p.UDP.SourcePort) {
			x.SourcePorts = append(x.SourcePorts, p.UDP.SourcePort)
		}
		one := Counts{Packets: 1, Bytes: bytes, Payload: uint64(in.CH.PayloadLength)}
		if in.CH.Flags&mr0.FlagRTX != 0 {
			one.Retransmissions = 1
		}
		if p.Network.ECN == dissector.ECNCE {
			one.CE = 1
		}
		if in.CH.Type == mr0.TypeProbe {
			one.Probes = 1
		}
		sum(&d.Counts, one)
		sum(&x.Counts, one)
		if in.CH.Type == mr0.TypeProbe {
			return
		}
		i := slices.IndexFunc(d.Streams, func(x StreamCounts) bool { return x.Stream == in.DH.StreamID })
		if i < 0 {
			d.Streams = append(d.Streams, StreamCounts{Stream: in.DH.StreamID})
			i = len(d.Streams) - 1
		}
		sum(&d.Streams[i].Counts, one)
	}
}

func sum(to *Counts, c Counts) {
	to.Packets += c.Packets
	to.Bytes += c.Bytes
	to.Payload += c.Payload
	to.Retransmissions += c.Retransmissions
	to.CE += c.CE
	to.Probes += c.Probes
}

// compare holds a report against what a capture shows.
func (s *seen) compare(t *testing.T, what string, r *Report) {
	t.Helper()
	if diff := cmp.Diff(&r.Connection.Sent, s.direction(r.Connection.PeerID)); diff != "" {
		t.Errorf("%s, sent, report (-) against capture (+):\n%s", what, diff)
	}
	if diff := cmp.Diff(&r.Connection.Received, s.direction(r.Connection.ID)); diff != "" {
		t.Errorf("%s, received, report (-) against capture (+):\n%s", what, diff)
	}
}

// What the dissector finds in the captures of both ends is what they report, whatever the network does.
func TestCapturesHoldWhatIsReported(t *testing.T) {
	for _, impair := range []string{"", "loss=3%,mark=5%", "duplicate=5%,reorder=2%,hold=200us", "delay=200us,spread=20us", "blackhole=1@10,loss=1%"} {
		for _, operation := range []string{"write", "read"} {
			t.Run(operation+"/"+impair, func(t *testing.T) {
				t.Parallel()
				files := [2]bytes.Buffer{}
				r := run{
					transfer: Transfer{Operation: operation, Size: 3 << 20, Message: 1 << 16, Streams: 3, Depth: 4, Seed: 5},
					change: func(side int, c *Config) {
						c.Capture = &files[side]
						m, err := ParseImpairment(impair)
						if err != nil {
							t.Error(err)
						}
						c.Impairment = m
					},
				}
				client, server := r.must(t)
				for i, report := range []*Report{client, server} {
					read(t, &files[i], nil).compare(t, report.Role, report)
				}
				if client.Connection.Transport.Packets != client.Connection.Sent.Packets {
					t.Errorf("the transport has sent %d packets, %d were counted", client.Connection.Transport.Packets, client.Connection.Sent.Packets)
				}
			})
		}
	}
}
