package dissector_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// deliberate lists the differences to tshark 4.0.17 that are meant, by file and by the start of the field's
// name, each with the reason.
var deliberate = []struct{ file, field, reason string }{
	{"dc-small.pcap", "infiniband.deth", "ConnectX DC uses opcodes of RD with other headers: RDETH's reserved byte is not 0"},
	{"dc-small.pcap", "infiniband.reth", "the same"},
	{"dc-small.pcap", "infiniband.aeth", "the same"},
	{"neg-short-4791.pcap", "infiniband.", "transport version 8, unknown opcode, wrong ICRC: the port alone makes no RoCE packet"},
	{"roce.pcap", missing, "UDP source port 69 makes tshark read TFTP; the destination port is RoCEv2's"},
	{"enc-vxlan-8472.pcap", missing, "tshark does not know Linux's port for VXLAN"},
	{"sit-reserved-opcodes.pcap", missing, "tshark calls 0x5f malformed; it is reserved, its BTH is whole (IBTA volume 1, section 9.2.1)"},
	{"neg-short-4791.pcap", missing, "none has a BTH"},
}

// missing stands for all fields of a packet in which tshark found no BTH.
const missing = "BTH"

func meant(file, field string) bool {
	for _, d := range deliberate {
		if filepath.Base(file) == d.file && strings.HasPrefix(field, d.field) {
			return true
		}
	}
	return false
}

// TestFieldsOfPublicCapturesEqualTshark compares the headers with tshark's, for all files for which its
// answer was kept.
func TestFieldsOfPublicCapturesEqualTshark(t *testing.T) {
	dir := sharedCaptures(t)
	compared := 0
	for _, table := range filesWith(t, dir, ".tshark.tsv") {
		capture := strings.TrimSuffix(table, ".tshark.tsv")
		name, err := filepath.Rel(dir, capture)
		if err != nil {
			t.Fatal(err)
		}
		frames := readCapture(t, capture)
		index := 0
		for _, row := range readTable(t, table) {
			if row["_ws.col.Protocol"] == "PCAPNG" {
				continue // a block of the file that tshark numbers as a packet
			}
			index++
			if index > len(frames) {
				break
			}
			var p dissector.Packet
			decodeErr := dissector.Decode(frames[index-1].data, frames[index-1].meta, &p)
			if row["infiniband.bth.opcode"] == "" {
				if p.Has != 0 && !meant(name, missing) {
					t.Errorf("%s frame %d: BTH found, tshark has none: %s", name, index, row["_ws.col.Info"])
				}
				continue
			}
			compared++
			got := ourFields(&p)
			for field, want := range tsharkFields(t, row) {
				if got[field] != want && !meant(name, field) {
					t.Errorf("%s frame %d: %s is %q, tshark has %q (%v, %v)", name, index, field, got[field], want, decodeErr, p.Fault)
				}
			}
		}
	}
	t.Logf("%d packets compared", compared)
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

// tsharkFields are the fields of a row that tshark found, numbers in decimal.
func tsharkFields(tb testing.TB, row map[string]string) map[string]string {
	tb.Helper()
	fields := map[string]string{}
	for _, name := range []string{
		"ip.src", "ip.dst", "ip.ttl", "ip.id", "ip.dsfield.dscp", "ip.dsfield.ecn", "ipv6.src", "ipv6.dst", "udp.srcport", "udp.dstport",
		"infiniband.lrh.slid", "infiniband.lrh.dlid", "infiniband.grh.sgid", "infiniband.grh.dgid",
		"infiniband.bth.opcode", "infiniband.bth.se", "infiniband.bth.m", "infiniband.bth.padcnt", "infiniband.bth.tver",
		"infiniband.bth.p_key", "infiniband.bth.destqp", "infiniband.bth.a", "infiniband.bth.psn",
		"infiniband.deth.q_key", "infiniband.deth.srcqp",
		"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
		"infiniband.aeth.syndrome", "infiniband.aeth.msn",
		"infiniband.atomiceth.swapdt", "infiniband.atomiceth.cmpdt", "infiniband.atomicacketh.origremdt",
		"infiniband.immdt", "infiniband.ieth", "infiniband.invariant.crc",
	} {
		if v := row[name]; v != "" {
			// Of fields that repeat in nested headers the innermost is ours.
			v = v[strings.LastIndexByte(v, ',')+1:]
			base := 0
			if name == "infiniband.immdt" || name == "infiniband.ieth" { // written as bytes
				base = 16
			}
			if n, err := strconv.ParseUint(v, base, 64); err == nil {
				v = strconv.FormatUint(n, 10)
			}
			fields[name] = v
		}
	}
	return fields
}

func ourFields(p *dissector.Packet) map[string]string {
	number := func(v any) string { return fmt.Sprintf("%d", v) }
	flag := func(v bool) string {
		if v {
			return "1"
		}
		return "0"
	}
	f := map[string]string{}
	has := func(h infiniband.HeaderSet) bool { return p.Has&h != 0 }
	switch {
	case p.Network.Version == 4:
		f["ip.src"], f["ip.dst"] = p.Network.Source.String(), p.Network.Destination.String()
		f["ip.ttl"], f["ip.id"] = number(p.Network.TTL), number(p.Network.ID)
		f["ip.dsfield.dscp"], f["ip.dsfield.ecn"] = number(p.Network.DSCP), number(p.Network.ECN)
	case p.Protocol == dissector.ProtocolRoCEv2:
		f["ipv6.src"], f["ipv6.dst"] = p.Network.Source.String(), p.Network.Destination.String()
	case p.Network.Version == 6:
		f["infiniband.grh.sgid"], f["infiniband.grh.dgid"] = gid(p.Network.Source), gid(p.Network.Destination)
	}
	f["udp.srcport"], f["udp.dstport"] = number(p.UDP.SourcePort), number(p.UDP.DestinationPort)
	f["infiniband.lrh.slid"], f["infiniband.lrh.dlid"] = number(p.LRH.SourceLID), number(p.LRH.DestinationLID)
	if has(infiniband.HasBTH) {
		f["infiniband.bth.opcode"] = number(uint8(p.BTH.Opcode))
		f["infiniband.bth.se"], f["infiniband.bth.m"] = flag(p.BTH.SolicitedEvent), flag(p.BTH.MigrationRequest)
		f["infiniband.bth.padcnt"], f["infiniband.bth.tver"] = number(p.BTH.PadCount), number(p.BTH.TransportVersion)
		f["infiniband.bth.p_key"], f["infiniband.bth.destqp"] = number(p.BTH.PartitionKey), number(p.BTH.DestinationQP)
		f["infiniband.bth.a"], f["infiniband.bth.psn"] = flag(p.BTH.AckRequest), number(p.BTH.PSN)
	}
	if has(infiniband.HasDETH) {
		f["infiniband.deth.q_key"], f["infiniband.deth.srcqp"] = number(p.DETH.QueueKey), number(p.DETH.SourceQP)
	}
	if has(infiniband.HasRETH) {
		f["infiniband.reth.va"], f["infiniband.reth.r_key"] = number(p.RETH.VirtualAddress), number(p.RETH.RemoteKey)
		f["infiniband.reth.dmalen"] = number(p.RETH.DMALength)
	}
	if has(infiniband.HasAETH) {
		f["infiniband.aeth.syndrome"], f["infiniband.aeth.msn"] = number(uint8(p.AETH.Syndrome)), number(p.AETH.MSN)
	}
	if has(infiniband.HasAtomicETH) { // tshark names the fields that the RETH has, too, after the RETH
		f["infiniband.reth.va"], f["infiniband.reth.r_key"] = number(p.AtomicETH.VirtualAddress), number(p.AtomicETH.RemoteKey)
		f["infiniband.atomiceth.swapdt"], f["infiniband.atomiceth.cmpdt"] = number(p.AtomicETH.SwapOrAdd), number(p.AtomicETH.Compare)
	}
	if has(infiniband.HasAtomicAckETH) {
		f["infiniband.atomicacketh.origremdt"] = number(p.AtomicAckETH.OriginalData)
	}
	if has(infiniband.HasImmDt) {
		f["infiniband.immdt"] = number(p.ImmDt.Data)
	}
	if has(infiniband.HasIETH) {
		f["infiniband.ieth"] = number(p.IETH.RemoteKey)
	}
	if at := int(p.ICRCOffset); at != 0 && at+4 <= len(p.Data) {
		f["infiniband.invariant.crc"] = number(binary.BigEndian.Uint32(p.Data[at:]))
	}
	return f
}

func gid(a dissector.Address) string {
	if a.Addr().Is4() {
		return "::ffff:" + a.String()
	}
	return a.String()
}
