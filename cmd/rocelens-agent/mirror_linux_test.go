package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	packet "github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// session is a way in which a switch sends copies of frames to the host, and what rows have to say of it.
type session struct {
	tunnel   string
	from, to string // outer addresses, empty without an outer IP header
	cut      int    // bytes of a frame that are copied; 0: all
	wrap     wrap   // nil: a VXLAN device of the kernel does it
	mtu      int    // of the way of the copies, which are in IPv4; 0: as large as they are
	port     int    // of the VXLAN device
}

// wrap puts a copy into a packet that begins with the outer IP header, or whatever follows Ethernet's.
type wrap func(outer packet.IP, n uint32, frame []byte) []byte

func erspan1(outer packet.IP, _ uint32, frame []byte) []byte {
	return packet.ERSPAN1(nil, outer, frame)
}

func erspan2(outer packet.IP, n uint32, frame []byte) []byte {
	return packet.ERSPAN2(nil, outer, n, 7, 100, frame)
}

func erspan3(outer packet.IP, n uint32, frame []byte) []byte {
	h := packet.ERSPAN3{Session: 8, VLAN: 100, Timestamp: 10 * n, Ethernet: true, Egress: n%2 == 1, Platform: make([]byte, 8)}
	return h.Wrap(nil, outer, n, frame)
}

func gre(outer packet.IP, _ uint32, frame []byte) []byte { return packet.GRE(nil, outer, 9, frame) }

// overlay mirrors a frame that is in VXLAN already.
func overlay(outer packet.IP, n uint32, frame []byte) []byte {
	between := packet.IP{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.2")}
	return erspan2(outer, n, ethernet(0x0800, packet.VXLAN(nil, between, 50000, 5000, frame)))
}

// pseudowire is Ethernet over MPLS, with a control word (RFC 4448).
func pseudowire(_ packet.IP, _ uint32, frame []byte) []byte {
	return packet.MPLS(nil, []uint32{1000, 16}, append(make([]byte, 4), frame...))
}

func ethernet(etherType uint16, payload []byte) []byte {
	return packet.Ethernet(nil, [6]byte{2, 0, 0, 0, 0, 2}, [6]byte{2, 0, 0, 0, 0, 4}, etherType, payload)
}

var sessions = []session{
	{tunnel: "ERSPAN I", from: "10.200.1.1", to: "10.200.1.2", wrap: erspan1},
	{tunnel: "ERSPAN II", from: "10.200.2.1", to: "10.200.2.2", wrap: erspan2},
	{tunnel: "ERSPAN III", from: "10.200.3.1", to: "10.200.3.2", wrap: erspan3},
	{tunnel: "GRE", from: "10.200.4.1", to: "10.200.4.2", wrap: gre},
	{tunnel: "ERSPAN I", from: "2001:db8:5::1", to: "2001:db8:5::2", wrap: erspan1},
	{tunnel: "ERSPAN II", from: "2001:db8:6::1", to: "2001:db8:6::2", wrap: erspan2},
	{tunnel: "ERSPAN III", from: "2001:db8:7::1", to: "2001:db8:7::2", wrap: erspan3},
	{tunnel: "GRE", from: "2001:db8:8::1", to: "2001:db8:8::2", wrap: gre},
	{tunnel: "VXLAN", from: "10.99.0.1", to: "10.99.0.2", port: 4789},
	{tunnel: "VXLAN", from: "10.99.0.1", to: "10.99.0.2", port: 8472},
	{tunnel: "VXLAN", from: "10.200.11.1", to: "10.200.11.2", wrap: overlay},
	{tunnel: "MPLS", wrap: pseudowire},
	{tunnel: "ERSPAN I", from: "10.200.13.1", to: "10.200.13.2", cut: 128, wrap: erspan1},
	{tunnel: "ERSPAN II", from: "10.200.14.1", to: "10.200.14.2", cut: 192, wrap: erspan2},
	{tunnel: "ERSPAN III", from: "2001:db8:15::1", to: "2001:db8:15::2", cut: 128, wrap: erspan3},
	{tunnel: "GRE", from: "10.200.16.1", to: "10.200.16.2", cut: 96, wrap: gre},
	{tunnel: "ERSPAN II", from: "10.200.17.1", to: "10.200.17.2", mtu: 576, wrap: erspan2},
}

// copies are the frames by which the host gets a copy, the first of which has its headers; of a kernel's device, the frame that is
// to be given to it.
func (s *session) copies(n int, frame []byte) [][]byte {
	if s.wrap == nil {
		return [][]byte{frame}
	}
	if s.cut > 0 {
		frame = frame[:min(s.cut, len(frame))]
	}
	outer := packet.IP{}
	etherType := uint16(0x8847)
	if s.from != "" {
		outer = packet.IP{Source: netip.MustParseAddr(s.from), Destination: netip.MustParseAddr(s.to)}
		etherType = 0x0800
		if outer.Source.Is6() {
			etherType = 0x86dd
		}
	}
	parts := [][]byte{s.wrap(outer, uint32(n), frame)}
	if s.mtu > 0 {
		parts = fragments(parts[0], s.mtu)
	}
	for i := range parts {
		parts[i] = ethernet(etherType, parts[i])
	}
	return parts
}

// fragments cuts an IPv4 packet up as RFC 791 says, section 2.3.
func fragments(whole []byte, mtu int) (all [][]byte) {
	const header, unit, more = 20, 8, 0x2000
	room := (mtu - header) / unit * unit
	for at := header; at < len(whole); at += room {
		end := min(at+room, len(whole))
		part := slices.Concat(whole[:header], whole[at:end])
		field := uint16((at - header) / unit)
		if end < len(whole) {
			field |= more
		}
		binary.BigEndian.PutUint16(part[2:], uint16(len(part)))
		binary.BigEndian.PutUint16(part[6:], field)
		all = append(all, part)
	}
	return all
}

// device makes a VXLAN interface beside the sending end, whose kernel puts the outer headers on.
func (s *session) device(t *testing.T, at vethtest.End) vethtest.End {
	t.Helper()
	name := "vx" + strconv.Itoa(s.port)
	at.IP(t, "address replace", s.from+"/24 dev", at.Interface)
	at.IP(t, "neighbour replace", s.to, "lladdr 02:00:00:00:00:02 dev", at.Interface)
	at.IP(t, "link add", name, "type vxlan id 5001 local", s.from, "remote", s.to, "dstport", strconv.Itoa(s.port), "dev", at.Interface)
	at.IP(t, "link set", name, "up")
	return vethtest.End{Namespace: at.Namespace, Interface: name}
}

// original is a frame as it passed the switch.
type original struct {
	flow    string // protocol and addresses, as CSV
	frame   []byte
	payload int
}

// exchange has requests of each transport, and answers. Its addresses are its own, by its number.
func exchange(t *testing.T, number byte) (all []original) {
	t.Helper()
	const requests, size = 20, 1000
	v4 := [2]netip.Addr{netip.AddrFrom4([4]byte{10, 1, number, 1}), netip.AddrFrom4([4]byte{10, 1, number, 2})}
	gid := [2]netip.Addr{netip.MustParseAddr(fmt.Sprintf("fe80::%x:1", number+1)), netip.MustParseAddr(fmt.Sprintf("fe80::%x:2", number+1))}
	add := func(protocol string, f packet.Frame, from, to netip.Addr, bytes int) {
		f.Source, f.Destination, f.SourcePort, f.Payload = from, to, 50000, make([]byte, bytes)
		all = append(all, original{fmt.Sprintf("%q,%q,%q", protocol, from, to), built(t, f), bytes})
	}
	for n := range uint32(requests) {
		send := infiniband.BTH{Opcode: infiniband.RCSendOnly, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 0x11, PSN: n, AckRequest: true}
		ack := infiniband.BTH{Opcode: infiniband.RCAcknowledge, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 0x22, PSN: n}
		aeth := infiniband.AETH{Syndrome: 0x1f, MSN: n + 1}
		write := mr0.Packet{
			CH: mr0.CH{Type: mr0.TypeWrite, PSN: n, DestConnID: 7, Flags: mr0.FlagFirst | mr0.FlagLast},
			DH: mr0.DH{StreamID: 1, MSN: n, MessageLength: size},
		}
		id := uint16(n + 1)
		add("RoCEv2", packet.Frame{BTH: send, ID: id}, v4[0], v4[1], size)
		add("RoCEv2", packet.Frame{BTH: ack, AETH: aeth, ID: id}, v4[1], v4[0], 0)
		add("RoCEv1", packet.Frame{RoCEv1: true, BTH: send}, gid[0], gid[1], size)
		add("RoCEv1", packet.Frame{RoCEv1: true, BTH: ack, AETH: aeth}, gid[1], gid[0], 0)
		add("MetaRoCE", packet.Frame{MetaRoCE: &write, ID: id}, v4[0], v4[1], size)
	}
	return all
}

func built(t *testing.T, f packet.Frame) []byte {
	t.Helper()
	f.DestinationMAC, f.SourceMAC, f.NoPadding = [6]byte{2, 0, 0, 0, 0, 2}, [6]byte{2, 0, 0, 0, 0, 1}, true
	data, err := f.AppendTo(nil)
	require.NoError(t, err)
	return data
}

// sums are what the rows of a flow have to add up to.
type sums struct{ packets, bytes, payload, undetermined int }

const (
	vxlanHeaders = 14 + 20 + 8 + 8
	summed       = `sum(packets), sum(bytes), sum(payload_bytes), sum(icrc_undetermined), sum(icrc_bad), sum(truncated), sum(malformed),
		sum(ifNull(retransmitted, 0)), sum(ifNull(missing_psns, 0)), sum(mirror_copies)`
)

// TestMirrorsAreUnwrapped: what arrives at the host in tunnels of every kind, whole, cut short by the switch, or in fragments, is in
// the rows to the packet.
func TestMirrorsAreUnwrapped(t *testing.T) {
	db := newDatabase(t)
	left, right := vethtest.Pair(t)
	agent := start(t, right, append(db.flags(), "--interval", "1s", "--state", t.TempDir())...)
	require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents") != "0" }, patience, glance, "no heartbeat")

	want, sent, later := map[string]sums{}, 0, 0
	for number := range sessions {
		s, at := &sessions[number], left
		if s.wrap == nil {
			at = s.device(t, left)
		}
		var out [][]byte
		for n, o := range exchange(t, byte(number)) {
			copies := s.copies(n, o.frame)
			out = append(out, copies...)
			later += len(copies) - 1
			sent++
			key := fmt.Sprintf("%s,%q,%q,%q", o.flow, s.tunnel, s.from, s.to)
			w := want[key]
			w.packets++
			w.bytes += len(copies[0])
			w.payload += o.payload
			if s.wrap == nil {
				w.bytes += vxlanHeaders
			}
			if len(copies) > 1 || s.cut > 0 && s.cut < len(o.frame) {
				w.undetermined++
			}
			want[key] = w
		}
		at.Send(t, out)
	}
	require.Eventually(t, func() bool {
		return db.ask(t, "SELECT sum(decode_out) >= "+strconv.Itoa(sent)+" FROM agent_intervals") == "1"
	}, patience, glance, "%s", agent.stderr.Bytes())
	agent.end(t)

	var rows []string
	for key, w := range want {
		rows = append(rows, fmt.Sprintf("%s,%d,%d,%d,%d,0,0,0,0,0,0", key, w.packets, w.bytes, w.payload, w.undetermined))
	}
	slices.Sort(rows)
	address := func(column string) string {
		return "ifNull(replaceOne(toString(" + column + "), '::ffff:', ''), '')"
	}
	columns := []string{"protocol", address("source"), address("destination"), "tunnel", address("outer_source"), address("outer_destination"), summed}
	got := strings.Split(db.ask(t, "SELECT "+strings.Join(columns, ", ")+" FROM agent_flows GROUP BY ALL"), "\n")
	slices.Sort(got)
	assert.Empty(t, cmp.Diff(rows, got))
	assert.Equal(t, strconv.Itoa(later), db.ask(t, "SELECT sum(drops['decode: fragment']) FROM agent_intervals"), "later fragments")
	assert.Equal(t, "0", db.ask(t, "SELECT sum(drops['decode: malformed'] + drops['decode: truncated'] + drops['track: no flow']) FROM agent_intervals"))
}

// both are what differs between the copies of a packet that is mirrored on its way into the switch and out of it.
var both = []struct {
	name    string
	in, out func(frame []byte) []byte
	version byte // of the packet's IP
}{
	{"router", mirrored(7, false), func(frame []byte) []byte { return mirrored(7, false)(routed(frame)) }, 4},
	{"direction", mirrored(7, false), mirrored(7, true), 6},
	{"sessions", mirrored(7, false), mirrored(8, false), 6},
}

func mirrored(number uint16, egress bool) func([]byte) []byte {
	outer := packet.IP{Source: netip.MustParseAddr("10.200.0.1"), Destination: netip.MustParseAddr("10.200.0.2")}
	h := packet.ERSPAN3{Session: number, Ethernet: true, Egress: egress}
	return func(frame []byte) []byte { return ethernet(0x0800, h.Wrap(nil, outer, 0, frame)) }
}

// routed is the frame behind a router that is congested: other MAC addresses, a hop less to live, and a mark.
func routed(frame []byte) []byte {
	out := slices.Clone(frame)
	out[5], out[11] = 6, 5
	ip := out[14:]
	ip[1] |= byte(dissector.ECNCE)
	ip[8]--
	var sum uint32
	ip[10], ip[11] = 0, 0
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum&0xffff+sum>>16))
	return out
}

// TestMirroredInAndOut: a packet that the switch mirrors on both ways is one packet and a copy, not one that was sent again.
func TestMirroredInAndOut(t *testing.T) {
	db := newDatabase(t)
	left, right := vethtest.Pair(t)
	agent := start(t, right, append(db.flags(), "--interval", "1s", "--state", t.TempDir())...)
	require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents") != "0" }, patience, glance, "no heartbeat")
	// Where the sender is interrupted for a millisecond between a packet and its copy, nobody can tell what it is: of many
	// connections, that does not happen to all.
	const connections, pairs = 10, 20
	for i := range both {
		b := &both[i]
		from, to := netip.MustParseAddr("10.2.0.1"), netip.MustParseAddr("10.2.0.2")
		if b.version == 6 {
			from, to = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
		}
		var out [][]byte
		for n := range uint32(connections * pairs) {
			f := built(t, packet.Frame{
				Source: from, Destination: to, SourcePort: 50000, ID: uint16(n + 1), ECN: dissector.ECNECT0, Payload: make([]byte, 64),
				BTH: infiniband.BTH{
					Opcode: infiniband.RCSendOnly, PartitionKey: infiniband.DefaultPartitionKey,
					DestinationQP: uint32(0x100*(i+1)) + n/pairs, PSN: n % pairs,
				},
			})
			out = append(out, b.in(f), b.out(f))
		}
		left.Send(t, out)
	}
	sent := len(both) * connections * 2 * pairs
	require.Eventually(t, func() bool {
		return db.ask(t, "SELECT sum(decode_out) >= "+strconv.Itoa(sent)+" FROM agent_intervals") == "1"
	}, patience, glance, "%s", agent.stderr.Bytes())
	agent.end(t)
	for i := range both {
		marked := 0
		if both[i].version == 4 {
			marked = pairs
		}
		told := db.ask(t, `SELECT sum(packets), sum(mirror_copies), sum(retransmitted), sum(duplicates), sum(out_of_order), sum(ce_marked), sum(messages)
			FROM agent_flows WHERE intDiv(destination_qp, 256) = `+strconv.Itoa(i+1)+" GROUP BY destination_qp")
		assert.Contains(t, strings.Split(told, "\n"), fmt.Sprintf("%d,%d,0,0,0,%d,%d", 2*pairs, pairs, marked, pairs), both[i].name)
	}
}
