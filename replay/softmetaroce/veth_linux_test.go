package softmetaroce

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// cable is a pair of namespaces with addresses.
type cable struct{ left, right vethtest.End }

var (
	left4, right4 = netip.MustParseAddr("10.99.0.1"), netip.MustParseAddr("10.99.0.2")
	left6, right6 = netip.MustParseAddr("fd99::1"), netip.MustParseAddr("fd99::2")
	lo6           = netip.MustParseAddr("fd99:1::1")
)

func newCable(t *testing.T) *cable {
	t.Helper()
	c := &cable{}
	c.left, c.right = vethtest.Pair(t)
	for i, e := range []vethtest.End{c.left, c.right} {
		command(t, "ip", "-n", e.Namespace, "address", "add", []netip.Addr{left4, right4}[i].String()+"/24", "dev", e.Interface)
		command(t, "ip", "-n", e.Namespace, "address", "add", []netip.Addr{left6, right6}[i].String()+"/64", "dev", e.Interface, "nodad")
	}
	command(t, "ip", "-n", c.left.Namespace, "link", "set", "lo", "up")
	command(t, "ip", "-n", c.left.Namespace, "address", "add", lo6.String()+"/128", "dev", "lo", "nodad")
	return c
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %s", name, strings.Join(args, " "), out)
	}
}

// place runs the client at the left end and the server at the right one.
func (c *cable) place(t *testing.T, r *run, six bool) *run {
	t.Helper()
	r.client, r.server = left4, right4
	if six {
		r.client, r.server = left6, right6
	}
	r.in[0] = func(fn func()) <-chan struct{} { return c.left.Go(t, fn) }
	r.in[1] = func(fn func()) <-chan struct{} { return c.right.Go(t, fn) }
	return r
}

// Between two namespaces whatever is moved arrives: any operation, number of streams and paths, IPv4 and IPv6, over a
// network that does any harm.
func TestTransfersOverVeth(t *testing.T) {
	c := newCable(t)
	cases := []struct {
		operation      string
		size           uint64
		streams, paths int
		mtu            int
		impair         string
		six            bool
	}{
		{"write", 1, 1, 1, 4096, "", false},
		{"write", 64 << 20, 4, 8, 8192, "", false},
		{"send", 16 << 20, 64, 64, 4096, "", true},
		{"read", 16 << 20, 64, 64, 4096, "", false},
		{"write", 4 << 20, 1, 64, 1024, "loss=1%", true},
		{"send", 4 << 20, 64, 1, 1024, "loss=5%", false},
		{"read", 4 << 20, 8, 8, 256, "loss=10%", true},
		{"write", 4 << 20, 8, 8, 2048, "delay=1ms,spread=100us", false},
		{"send", 4 << 20, 8, 16, 4096, "reorder=5%,hold=500us", false},
		{"read", 4 << 20, 8, 4, 4096, "duplicate=10%", true},
		{"write", 4 << 20, 8, 4, 4096, "mark=20%", true},
		{"write", 4 << 20, 8, 4, 4096, "blackhole=2@20", false},
		{"read", 4 << 20, 8, 4, 4096, "break=1@20", true},
	}
	for _, k := range cases {
		t.Run(fmt.Sprintf("%s/%d/%d streams/%d paths/%s/v6=%v", k.operation, k.size, k.streams, k.paths, k.impair, k.six), func(t *testing.T) {
			client, server := c.place(t, &run{
				transfer: Transfer{Operation: k.operation, Size: k.size, Message: 1 << 16, Streams: k.streams, Depth: 4, Seed: 11},
				change: func(_ int, config *Config) {
					config.Paths, config.MTU = k.paths, k.mtu
					m, err := ParseImpairment(k.impair)
					if err != nil {
						t.Error(err)
					}
					config.Impairment = m
				},
			}, k.six).must(t)
			if client.Connection.MTU != k.mtu {
				t.Errorf("MTU %d, want %d", client.Connection.MTU, k.mtu)
			}
			// What one end sends, less what the impairment takes, is what reaches the other. What is held back may be
			// sent again meanwhile, and come when all is over.
			did := client.Impairment
			if did.Lost+did.Swallowed+did.Duplicated+did.Reordered == 0 &&
				server.Sockets.KernelDrops == 0 && client.Connection.Sent.Payload != server.Connection.Received.Payload {
				t.Errorf("%d bytes were sent, %d arrived, and none was lost", client.Connection.Sent.Payload, server.Connection.Received.Payload)
			}
			if n := client.Sockets.SendErrors + server.Sockets.SendErrors; n > 0 {
				t.Errorf("%d datagrams were not sent", n)
			}
			hurt(t, k.impair, client, server)
		})
	}
	t.Run("loopback of IPv6", func(t *testing.T) {
		r := &run{transfer: Transfer{Operation: "write", Size: 1 << 20, Message: 1 << 16, Streams: 2, Depth: 4, Seed: 3}}
		c.place(t, r, true)
		r.client, r.server, r.in[1] = netip.IPv6Loopback(), lo6, r.in[0]
		r.must(t)
	})
}

// hurt checks that an impairment of both ends was felt.
func hurt(t *testing.T, impair string, client, server *Report) {
	t.Helper()
	m, err := ParseImpairment(impair)
	if err != nil {
		t.Fatal(err)
	}
	sender, receiver := client, server // of the data
	if client.Operation == "read" {
		sender, receiver = server, client
	}
	done, transport := sender.Impairment, sender.Connection.Transport
	if m.Loss > 0 && (done.Lost == 0 || transport.Retransmissions == 0) {
		t.Errorf("nothing was lost, or nothing was sent again: %+v, %+v", done, transport)
	}
	if m.Delay > 0 && (done.Delayed < transport.Packets || client.Nanoseconds < int64(2*m.Delay)) {
		t.Errorf("%+v of %d packets, %d ns", done, transport.Packets, client.Nanoseconds)
	}
	if m.Reorder > 0 && (done.Reordered == 0 || transport.Lost == 0) {
		t.Errorf("nothing was overtaken, or it left no gap: %+v, %+v", done, transport)
	}
	if m.Duplicate > 0 && (done.Duplicated == 0 || receiver.Verdicts["duplicate"] == 0) {
		t.Errorf("nothing was sent twice, or nothing came twice: %+v, %+v", done, receiver.Verdicts)
	}
	if m.Mark > 0 && (done.Marked == 0 || receiver.Connection.Received.CE != done.Marked || transport.Cuts == 0) {
		t.Errorf("%+v, %d came marked, %+v", done, receiver.Connection.Received.CE, transport)
	}
	if len(m.Breaks) > 0 && (done.Swallowed == 0 || transport.PathFailures == 0 || transport.Moved == 0) {
		t.Errorf("%+v, %+v", done, transport)
	}
}

// More bytes than 32 bits count.
func TestFourGigabytesOverVeth(t *testing.T) {
	size := uint64(4 << 30)
	if os.Getenv("ROCELENS_RACE") != "" {
		size = 64 << 20 // the detector makes it twenty times slower; CI moves all of it without
	}
	client, server := newCable(t).place(t, &run{
		transfer: Transfer{Operation: "write", Size: size, Message: 1 << 20, Streams: 4, Depth: 4, Seed: 4},
		change:   func(_ int, c *Config) { c.MTU = 8192 },
	}, false).must(t)
	if client.Size != size || server.Connection.Received.Payload < size {
		t.Errorf("%d of %d bytes", server.Connection.Received.Payload, size)
	}
}

// What tcpdump sees on the wire at the receiver's end is what the receiver reports, per path and stream, with marks and
// repetitions; what the impairment lost never reached it.
func TestTcpdumpSeesWhatIsReported(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("tcpdump is not installed")
	}
	c := newCable(t)
	dump := exec.CommandContext(t.Context(), "ip", "netns", "exec", c.right.Namespace, "tcpdump", "-i", c.right.Interface, "-w", "-",
		"--immediate-mode", "-U", "-B", "65536", "-s", "4500", "udp", "port", "51791")
	said, err := dump.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	wrote, err := dump.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dump.Start(); err != nil {
		t.Fatal(err)
	}
	var words []byte
	for b := make([]byte, 256); !bytes.Contains(words, []byte("listening on")); {
		n, err := said.Read(b)
		if err != nil {
			t.Fatalf("tcpdump: %s", words)
		}
		words = append(words, b[:n]...)
	}
	var server *Report
	moved := spawn(func() {
		r := c.place(t, &run{
			transfer: Transfer{Operation: "write", Size: 2 << 20, Message: 1 << 16, Streams: 3, Depth: 4, Seed: 11},
			change: func(_ int, config *Config) {
				config.Offload = false // or tcpdump would see joined datagrams
				config.Impairment = Impairment{Loss: 0.02, Duplicate: 0.02, Mark: 0.05}
			},
		}, false)
		var err error
		if _, server, err = r.do(t); err != nil {
			t.Error(err)
			_ = dump.Process.Signal(os.Interrupt)
		}
	})
	// The server's DISCONNECT is the last of the packets that are compared.
	over := false
	wire := read(t, wrote, func(p *dissector.Packet) {
		if !over && p.MetaRoCE.MR0.CH.Type == mr0.TypeDisconnect && p.Network.Source.Addr() == right4 {
			over = true
			if err := dump.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	})
	<-moved
	rest, err := io.ReadAll(said)
	if err != nil {
		t.Fatal(err)
	}
	if err := dump.Wait(); err != nil {
		t.Fatalf("tcpdump: %v: %s", err, rest)
	}
	if !bytes.Contains(rest, []byte("\n0 packets dropped by kernel")) {
		t.Fatalf("tcpdump has missed packets: %s", rest)
	}
	if server == nil || !server.Equal {
		t.Fatalf("the server reports %+v", server)
	}
	got, want := wire.direction(server.Connection.ID), server.Connection.Received
	if got.Counts != want.Counts {
		t.Errorf("tcpdump has seen %+v, the receiver %+v", got.Counts, want.Counts)
	}
	for i, p := range want.Paths {
		if i >= len(got.Paths) || got.Paths[i].Counts != p.Counts {
			t.Errorf("path %d: tcpdump %+v, receiver %+v", p.Path, got.Paths, p)
		}
	}
	for i, s := range want.Streams {
		if i >= len(got.Streams) || got.Streams[i] != s {
			t.Errorf("stream %d: tcpdump %+v, receiver %+v", s.Stream, got.Streams, s)
		}
	}
	if want.CE == 0 || want.Retransmissions == 0 {
		t.Errorf("nothing was marked or sent again: %+v", want.Counts)
	}
}
