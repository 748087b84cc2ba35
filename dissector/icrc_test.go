package dissector_test

import (
	"encoding/hex"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// TestICRCVectors checks published packets: six of scapy's tests, three of them captured on a ConnectX-4 Lx.
// The last one's ICRC is known to be wrong where it was published.
func TestICRCVectors(t *testing.T) {
	want := map[string]dissector.ICRCState{
		"78f353f3": dissector.ICRCGood, "3e5b743b": dissector.ICRCGood, "82fd002a": dissector.ICRCGood,
		"25f0c038": dissector.ICRCGood, "e3d856bb": dissector.ICRCGood, "e42dad81": dissector.ICRCBad,
	}
	frames := readCapture(t, filepath.Join("testdata", "scapy-roce-vectors.pcap"))
	for i, f := range frames {
		var p dissector.Packet
		if err := dissector.Decode(f.data, f.meta, &p); err != nil {
			t.Fatalf("frame %d: %v %v", i+1, err, p.Fault)
		}
		icrc := hex.EncodeToString(f.data[p.ICRCOffset : p.ICRCOffset+4])
		state, known := want[icrc]
		if !known {
			t.Fatalf("frame %d: unknown vector %s", i+1, icrc)
		}
		delete(want, icrc)
		if got := dissector.VerifyICRC(&p); got != state {
			t.Errorf("%s: state %d, want %d", icrc, got, state)
		}
	}
	if len(want) != 0 {
		t.Errorf("vectors missing: %v", want)
	}
}

// TestICRCLeavesOutWhatSwitchesChange flips each byte of packets of all kinds: the verdict must change for
// those bytes that the ICRC covers, and for no other.
func TestICRCLeavesOutWhatSwitchesChange(t *testing.T) {
	four := dataFrame(infiniband.RCWriteOnly, 64)
	six := four
	six.Source, six.Destination = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	one := four
	one.RoCEv1 = true
	for _, c := range []struct {
		name     string
		data     []byte
		variants map[int]byte // bits that do not count, by offset in the packet
	}{
		{"IPv4", mustBuild(t, four), map[int]byte{1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff, 26: 0xff, 27: 0xff, 32: 0xff}},
		{"IPv6", mustBuild(t, six), map[int]byte{0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff, 46: 0xff, 47: 0xff, 52: 0xff}},
		{"RoCEv1", mustBuild(t, one), map[int]byte{0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff, 44: 0xff}},
	} {
		var p dissector.Packet
		if err := dissector.Decode(c.data, metaOf(c.data), &p); err != nil {
			t.Fatal(err)
		}
		packet := c.data[14:p.ICRCOffset]
		right, ok := dissector.ComputeICRC(p.Protocol, packet)
		if !ok {
			t.Fatalf("%s: not computed", c.name)
		}
		for i := range packet {
			for bit := byte(1); bit != 0; bit <<= 1 {
				packet[i] ^= bit
				got, ok := dissector.ComputeICRC(p.Protocol, packet)
				packet[i] ^= bit
				if !ok || (i == 0 && bit > 0x0f) || (i == 0 && c.name == "IPv4") {
					continue // no such packet any more
				}
				if same := got == right; same != (c.variants[i]&bit != 0) {
					t.Errorf("%s: byte %d bit %#x: same ICRC %t", c.name, i, bit, same)
				}
			}
		}
	}
}

func TestICRCUndeterminedAccusesNobody(t *testing.T) {
	data := mustBuild(t, dataFrame(infiniband.RCSendOnly, 64))
	zero := edited(data, func(b []byte) { copy(b[len(b)-4:], []byte{0, 0, 0, 0}) })
	options := edited(data, func(b []byte) { b[57] ^= 1 })
	options = append(options[:34:34], append([]byte{0x94, 4, 0, 0}, options[34:]...)...)
	options[14], options[17] = 0x46, options[17]+4
	extension := mustBuild(t, six(dataFrame(infiniband.RCSendOnly, 64)))
	extension = append(extension[:54:54], append([]byte{17, 0, 1, 4, 0, 0, 0, 0}, extension[54:]...)...)
	extension[20], extension[19] = 60, extension[19]+8
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"cut", data[:len(data)-1]},
		{"not filled in", zero},
		{"first fragment", edited(data, func(b []byte) { b[20] = 0x20 })},
		{"IPv4 options", options},
		{"IPv6 extension header", extension},
		{"IPv4 length left to the NIC", edited(data, func(b []byte) { b[16], b[17] = 0, 0 })},
		{"IPv6 length left to the NIC", edited(mustBuild(t, six(dataFrame(infiniband.RCSendOnly, 64))), func(b []byte) { b[18], b[19] = 0, 0 })},
	} {
		var p dissector.Packet
		meta := metaOf(c.data)
		if c.name == "cut" {
			meta.OriginalLength = 1000
		}
		if err := dissector.Decode(c.data, meta, &p); err != nil {
			t.Errorf("%s: %v %v", c.name, err, p.Fault)
		}
		if got := dissector.VerifyICRC(&p); got != dissector.ICRCUndetermined {
			t.Errorf("%s: state %d", c.name, got)
		}
		if p.BTH.PSN != 0x123456 {
			t.Errorf("%s: PSN %#x", c.name, p.BTH.PSN)
		}
	}
}

func TestFindRewrittenPort(t *testing.T) {
	f := dataFrame(infiniband.RCWriteMiddle, 1024)
	for _, sent := range []uint16{0, 1, 0xc000, 0xc001, 0xff00, 0xffff} {
		f.SourcePort = sent
		data := mustBuild(t, f)
		data[34], data[35] = 0x12, 0xb7
		var p dissector.Packet
		if err := dissector.Decode(data, metaOf(data), &p); err != nil {
			t.Fatal(err)
		}
		if port, ok := dissector.FindRewrittenPort(&p); !ok || port != sent {
			t.Errorf("port %d, %t; sent %d", port, ok, sent)
		}
		data[60] ^= 4
		if port, ok := dissector.FindRewrittenPort(&p); ok {
			t.Errorf("port %d found in a corrupt packet", port)
		}
	}
	for _, c := range []struct {
		file string
		want int // different ports found; 0 means none in any packet
	}{{"sit-icrc-bad.pcap", 0}, {"sit-icrc-sport-rewritten.pcap", 1}} {
		ports := map[uint16]bool{}
		for i, f := range readCapture(t, filepath.Join("testdata", c.file)) {
			var p dissector.Packet
			if err := dissector.Decode(f.data, f.meta, &p); err != nil {
				t.Fatal(err)
			}
			port, ok := dissector.FindRewrittenPort(&p)
			if ok {
				ports[port] = true
			}
			if ok != (c.want != 0) {
				t.Errorf("%s frame %d: found %t", c.file, i+1, ok)
			}
		}
		if len(ports) != c.want {
			t.Errorf("%s: ports %v, want %d", c.file, ports, c.want)
		}
	}
}

// TestFindRewrittenPortInPublicCaptures reads captures in which every whole packet has a bad ICRC.
func TestFindRewrittenPortInPublicCaptures(t *testing.T) {
	dir := filepath.Join(sharedCaptures(t), "magnate3-linux-riscv-dev")
	type flow struct {
		source, destination dissector.Address
		port                uint16
	}
	for _, file := range []string{"dc-small.pcap", "rc-small.pcap", "uc-sg.pcap"} {
		ports := map[flow]map[uint16]int{}
		for i, f := range readCapture(t, filepath.Join(dir, file)) {
			var p dissector.Packet
			if err := dissector.Decode(f.data, f.meta, &p); err != nil && p.Has == 0 {
				t.Fatalf("%s frame %d: %v", file, i+1, err)
			}
			port, ok := dissector.FindRewrittenPort(&p)
			if !ok {
				t.Errorf("%s frame %d: none found", file, i+1)
				continue
			}
			key := flow{p.Network.Source, p.Network.Destination, p.UDP.SourcePort}
			if ports[key] == nil {
				ports[key] = map[uint16]int{}
			}
			ports[key][port]++
		}
		for key, found := range ports {
			if len(found) != 1 {
				t.Errorf("%s: flow %v to %v has ports %v", file, key.source, key.destination, found)
			}
		}
	}
}
