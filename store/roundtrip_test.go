package store_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/blocks"
)

var (
	v4a = dissector.Address{10: 0xff, 11: 0xff, 12: 192, 13: 0, 14: 2, 15: 1}
	v4b = dissector.Address{10: 0xff, 11: 0xff, 12: 192, 13: 0, 14: 2, 15: 2}
	v6a = dissector.Address{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 15: 1}
	v6b = dissector.Address{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 15: 2}
)

const start = int64(1_700_000_000_123_456_789)

func layers(p *dissector.Packet, types ...dissector.LayerType) {
	for i, t := range types {
		p.Layers[i].Type = t
	}
	p.LayerCount = uint8(len(types))
}

// fullPacket has every header that the table has columns for, whether they can stand together or not.
func fullPacket() *dissector.Packet {
	p := &dissector.Packet{
		Meta:     dissector.Meta{Time: start, Number: 7, OriginalLength: 1098, Interface: 3, HasTime: true},
		Data:     make([]byte, 128),
		Protocol: dissector.ProtocolRoCEv2,
		Ethernet: dissector.Ethernet{
			Source: [6]byte{2, 0, 0, 0, 0, 0xaa}, Destination: [6]byte{2, 0, 0, 0, 0, 0xbb},
			VLANCount: 2, VLAN: [2]uint16{5, 3<<13 | 100},
		},
		Network: dissector.IP{
			Version: 6, DSCP: 26, ECN: dissector.ECNCE, TTL: 63, FlowLabel: 0xabcde, Source: v6a, Destination: v6b,
		},
		UDP:    dissector.UDP{SourcePort: 49152, DestinationPort: 4791},
		Tunnel: dissector.Tunnel{Type: dissector.LayerVXLAN, Depth: 1, ID: 0xffffff, Outer: dissector.IP{Version: 4, Source: v4a, Destination: v4b}},
		Has: infiniband.HasBTH | infiniband.HasRDETH | infiniband.HasDETH | infiniband.HasXRCETH | infiniband.HasRETH |
			infiniband.HasAETH | infiniband.HasAtomicAckETH | infiniband.HasImmDt | infiniband.HasIETH,
		BTH: infiniband.BTH{
			Opcode: infiniband.RCWriteOnlyImmediate, SolicitedEvent: true, PadCount: 3, PartitionKey: 0xffff, BECN: true,
			DestinationQP: 0xfffffe, AckRequest: true, PSN: 0xffffff,
		},
		RDETH:         infiniband.RDETH{EEContext: 0x112233},
		DETH:          infiniband.DETH{QueueKey: 0x80010000, SourceQP: 0xabcdef},
		XRCETH:        infiniband.XRCETH{SRQ: 0x445566},
		RETH:          infiniband.RETH{VirtualAddress: 0xffff_8000_0000_0001, RemoteKey: 0xdeadbeef, DMALength: 0xffffffff},
		AETH:          infiniband.AETH{Syndrome: 0x20 | 14, MSN: 0xfffff0},
		AtomicAckETH:  infiniband.AtomicAckETH{OriginalData: 1<<64 - 1},
		ImmDt:         infiniband.ImmDt{Data: 0x01020304},
		IETH:          infiniband.IETH{RemoteKey: 0x05060708},
		PayloadLength: 1021,
	}
	layers(p, dissector.LayerEthernet, dissector.LayerIPv6, dissector.LayerUDP, dissector.LayerBTH)
	return p
}

func wantFull() store.Packet {
	return store.Packet{
		Number: 7, Time: new(time.Unix(0, start).UTC()), Interface: 3, Offset: 4096, CapturedLength: 128, OriginalLength: 1098,
		Protocol: "RoCEv2", Verdict: "truncated", Fault: dissector.Reason(1).String(), FaultLayer: "payload", FaultOffset: new(uint16(90)),
		Flow: new(uint64(1<<64 - 2)), Message: new(uint32(12)), Flags: uint16(flow.FlagRetransmitted | flow.FlagAfterNAK),
		SourceMAC: "02:00:00:00:00:aa", DestinationMAC: "02:00:00:00:00:bb", VLAN: new(uint16(100)), VLANPriority: new(uint8(3)),
		Tunnel: "VXLAN", TunnelID: new(uint32(0xffffff)),
		OuterSource: new(net.ParseIP("192.0.2.1")), OuterDestination: new(net.ParseIP("192.0.2.2")),
		Source: new(net.ParseIP("2001:db8::1")), Destination: new(net.ParseIP("2001:db8::2")),
		DSCP: new(uint8(26)), ECN: new("CE"), TTL: new(uint8(63)), FlowLabel: new(uint32(0xabcde)),
		SourcePort: new(uint16(49152)), DestinationPort: new(uint16(4791)),
		Opcode: new(uint8(0x0b)), OpcodeName: infiniband.RCWriteOnlyImmediate.String(),
		Solicited: new(true), Migration: new(false), PadCount: new(uint8(3)), TransportVersion: new(uint8(0)),
		PartitionKey: new(uint16(0xffff)), FECN: new(false), BECN: new(true), DestinationQP: new(uint32(0xfffffe)),
		AckRequest: new(true), PSN: new(uint32(0xffffff)), SourceQP: new(uint32(0xabcdef)), QueueKey: new(uint32(0x80010000)),
		EEContext: new(uint32(0x112233)), XRCSRQ: new(uint32(0x445566)),
		VirtualAddress: new(uint64(0xffff_8000_0000_0001)), RemoteKey: new(uint32(0xdeadbeef)), DMALength: new(uint32(0xffffffff)),
		AtomicOriginal: new(uint64(1<<64 - 1)), Syndrome: new(uint8(0x2e)), NAK: blocks.NakRNR, RNRTimer: new(uint64(1_280_000 / 2 * 2)),
		MSN: new(uint32(0xfffff0)), Immediate: new(uint32(0x01020304)), InvalidateKey: new(uint32(0x05060708)),
		PayloadLength: new(uint16(1021)), ICRC: "undetermined", PauseQuanta: []uint16{}, SACKFirst: []uint32{}, SACKLast: []uint32{},
	}
}

func TestPacketsComeBackAsTheyWere(t *testing.T) {
	s := open(t, "rocelens_packets")
	capture := uuid.New()
	a, err := s.BeginAnalysis(t.Context(), capture)
	if err != nil {
		t.Fatal(err)
	}
	full := fullPacket()
	full.Fault = dissector.Fault{Layer: dissector.LayerPayload, Reason: 1, Offset: 90}
	atomic := &dissector.Packet{
		Meta: dissector.Meta{Number: 8, OriginalLength: 86, Time: start + 1, HasTime: true}, Data: make([]byte, 86), Protocol: dissector.ProtocolRoCEv1,
		Network:   dissector.IP{Version: 4, ECN: dissector.ECNECT0, ID: 0xfffe, Source: v4a, Destination: v4b},
		Has:       infiniband.HasBTH | infiniband.HasAtomicETH | infiniband.HasAETH,
		BTH:       infiniband.BTH{Opcode: infiniband.RCCompareSwap},
		AtomicETH: infiniband.AtomicETH{VirtualAddress: 1 << 63, RemoteKey: 9, SwapOrAdd: 10, Compare: 11},
		AETH:      infiniband.AETH{Syndrome: 0x60},
	}
	pause := &dissector.Packet{
		Meta: dissector.Meta{Number: 9, OriginalLength: 64}, Data: make([]byte, 64), Protocol: dissector.ProtocolPause,
		Pause: dissector.Pause{Opcode: 0x0101, ClassEnable: 0x08, Quanta: [8]uint16{3: 0xffff}},
	}
	nothing := &dissector.Packet{Meta: dissector.Meta{Number: 10, OriginalLength: 60}}
	for _, add := range []struct {
		packet *dissector.Packet
		err    error
		icrc   dissector.ICRCState
		seen   flow.Observation
		offset int64
	}{
		{full, dissector.ErrTruncated, dissector.ICRCUndetermined, flow.Observation{Flow: 1<<64 - 2, Flags: flow.FlagRetransmitted | flow.FlagAfterNAK, Message: 12}, 4096},
		{atomic, nil, dissector.ICRCGood, flow.Observation{}, 5000},
		{pause, nil, dissector.ICRCNotChecked, flow.Observation{}, 6000},
		{nothing, dissector.ErrNotRDMA, dissector.ICRCNotChecked, flow.Observation{}, -1},
	} {
		if err := a.Packet(t.Context(), add.packet, add.err, add.icrc, add.seen, add.offset); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := s.Packets(t.Context(), capture, store.PacketQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	want := []store.Packet{
		wantFull(),
		{
			Number: 8, Time: new(time.Unix(0, start+1).UTC()), Offset: 5000, CapturedLength: 86, OriginalLength: 86, Protocol: "RoCEv1", Verdict: "ok",
			Source: new(net.ParseIP("192.0.2.1")), Destination: new(net.ParseIP("192.0.2.2")), DSCP: new(uint8(0)), ECN: new("ECT(0)"), //nolint:misspell // ECN-capable transport
			TTL: new(uint8(0)), IPID: new(uint16(0xfffe)), Opcode: new(uint8(0x13)), OpcodeName: infiniband.RCCompareSwap.String(),
			Solicited: new(false), Migration: new(false), PadCount: new(uint8(0)), TransportVersion: new(uint8(0)),
			PartitionKey: new(uint16(0)), FECN: new(false), BECN: new(false), DestinationQP: new(uint32(0)), AckRequest: new(false),
			PSN: new(uint32(0)), VirtualAddress: new(uint64(1 << 63)), RemoteKey: new(uint32(9)), AtomicSwapOrAdd: new(uint64(10)),
			AtomicCompare: new(uint64(11)), Syndrome: new(uint8(0x60)), NAK: "PSN sequence error", MSN: new(uint32(0)),
			PayloadLength: new(uint16(0)), ICRC: "good", PauseQuanta: []uint16{}, SACKFirst: []uint32{}, SACKLast: []uint32{},
		},
		{
			Number: 9, Offset: 6000, CapturedLength: 64, OriginalLength: 64, Protocol: "pause", Verdict: "ok", ICRC: "not_checked",
			PauseClasses: new(uint8(8)), PauseQuanta: []uint16{0, 0, 0, 0xffff, 0, 0, 0, 0}, SACKFirst: []uint32{}, SACKLast: []uint32{},
		},
		{
			Number: 10, Offset: -1, OriginalLength: 60, Protocol: "other", Verdict: "not_rdma", Fault: page.Packets[3].Fault,
			ICRC: "not_checked", PauseQuanta: []uint16{}, SACKFirst: []uint32{}, SACKLast: []uint32{},
		},
	}
	want[0].RNRTimer = new(uint64(infiniband.Syndrome(0x2e).RNRTimer()))
	if diff := cmp.Diff(want, page.Packets); diff != "" {
		t.Errorf("packets (-want +got):\n%s", diff)
	}
	if page.Total != 4 || page.MoreBefore || page.MoreAfter {
		t.Errorf("page = %d packets in all, more before %t, after %t", page.Total, page.MoreBefore, page.MoreAfter)
	}
}

func known(n uint64) flow.Count { return flow.Count{N: n, Known: true} }

// fullFlow has a value of its own in every field.
func fullFlow() flow.Record {
	r := flow.Record{
		ID: 1<<64 - 1, ConnectionID: 1<<63 + 5, ReverseID: 1<<63 + 6,
		Key: flow.Key{
			Source: v6a, Destination: v6b, DestinationQP: 0xffffff, SourceQP: 0xabcdef,
			Service: infiniband.ServiceUD, Protocol: dissector.ProtocolRoCEv2,
		},
		SourceQP: known(0xabcdef), Pairing: flow.PairingDatagram, ServiceID: known(0x1061144), Application: mad.ApplicationNVMe,
		SourceMAC: [6]byte{2, 1, 1, 1, 1, 1}, DestinationMAC: [6]byte{2, 2, 2, 2, 2, 2},
		VLAN: known(4095), DSCP: known(63), SourcePort: known(65535), SourcePorts: known(64), Tunnel: dissector.LayerERSPAN3,
		OuterSource: v4a, OuterDestination: v4b, HasTime: true, FirstTime: start, LastTime: start + 2_000_000_000,
		FirstNumber: 1, LastNumber: 1 << 40, Packets: 11, Bytes: 250_000_000, PayloadBytes: 13, GoodputBytes: known(14), Messages: known(15),
		Operations: flow.Operations{Send: 16, Write: 17, ReadRequest: 18, Atomic: 19, ReadResponse: 20, AtomicResponse: 21, Ack: 22, Datagram: 23, Other: 24},
		PathMTU:    known(4096), FirstPSN: known(0xfffffe), LastPSN: known(0xffffff), PSNGaps: known(25), MissingPSNs: known(26), MissingAcknowledged: known(20),
		Retransmitted: known(27), RetransmittedNAK: known(28), RetransmittedRNR: known(29), RetransmittedTimeout: known(30),
		OutOfOrder: known(31), Duplicates: known(32), MirrorCopies: 33, Acks: 34, RNRNaks: 35, RNRTimerMax: 655_360_000,
		CNPs: 36, CEMarked: known(300), ECTMarked: known(70_000), ICRCGood: 37, ICRCBad: 38, ICRCUndetermined: 39,
		PortRewritten: known(4791), Truncated: 40, Malformed: 41,
	}
	r.Naks[0], r.Naks[2], r.Naks[31] = 1, 2, 3
	return r
}

func TestFlowsComeBackAsTheyWere(t *testing.T) {
	s := open(t, "rocelens_flows")
	capture := uuid.New()
	a, err := s.BeginAnalysis(t.Context(), capture)
	if err != nil {
		t.Fatal(err)
	}
	full := fullFlow()
	empty := flow.Record{ID: 1, ConnectionID: 1, Key: flow.Key{Source: v4a, Destination: v4b, Protocol: dissector.ProtocolRoCEv1}}
	for _, r := range []flow.Record{full, empty} {
		if err := a.Flow(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := s.Flows(t.Context(), capture, store.FlowQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	want := []store.Flow{{Record: full, ThroughputBPS: new(1e9)}, {Record: empty}}
	if diff := cmp.Diff(want, page.Flows); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
	one, err := s.Flow(t.Context(), capture, full.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[0], one); diff != "" {
		t.Errorf("flow (-want +got):\n%s", diff)
	}
}

func TestNamesInTheDatabaseAreThoseOfTheCode(t *testing.T) {
	s := open(t, "rocelens")
	capture := uuid.New()
	a, err := s.BeginAnalysis(t.Context(), capture)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for protocol := range dissector.ProtocolPause + 1 {
		service := infiniband.Service(protocol % 8)
		r := flow.Record{ID: flow.ID(protocol) + 1, Key: flow.Key{Protocol: protocol, Service: service}}
		if err := a.Flow(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
		want = append(want, protocol.String()+" "+service.String())
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	result, err := s.Query(t.Context(), "SELECT concat(toString(protocol), ' ', replaceOne(toString(service), 'vendor2', 'vendor')) FROM flows WHERE capture_id = '"+
		capture.String()+"' ORDER BY flow_id", 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range result.Rows {
		got = append(got, row[0].(string))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestEveryColumnIsExplained(t *testing.T) {
	s := open(t, "rocelens")
	tables, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range tables {
		names = append(names, table.Name)
		if table.Comment == "" || len(table.Columns) < 7 {
			t.Errorf("table %s: comment %q, %d columns", table.Name, table.Comment, len(table.Columns))
		}
		for _, column := range table.Columns {
			if column.Comment == "" || column.Type == "" {
				t.Errorf("column %s.%s: comment %q, type %q", table.Name, column.Name, column.Comment, column.Type)
			}
		}
	}
	if got := strings.Join(names, " "); got != "agent_divergences agent_flows agent_intervals agent_paths agent_triggers agents captures divergences flows packets paths port_counters replays streams verdicts" {
		t.Errorf("tables = %s", got)
	}
}
