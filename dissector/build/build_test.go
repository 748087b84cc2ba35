package build_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

func frame() build.Frame {
	return build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 49152,
		BTH: infiniband.BTH{Opcode: infiniband.UCSendOnly, PartitionKey: 0xffff, DestinationQP: 0x11},
	}
}

func TestAppendToRefusesWhatCannotBeSent(t *testing.T) {
	mixed := frame()
	mixed.Destination = netip.MustParseAddr("2001:db8::1")
	none := build.Frame{}
	long := frame()
	long.Payload = make([]byte, 0x10000-40)
	for _, c := range []struct {
		name  string
		frame build.Frame
		want  error
	}{{"mixed families", mixed, build.ErrAddress}, {"no address", none, build.ErrAddress}, {"too long", long, build.ErrLength}} {
		if _, err := c.frame.AppendTo(nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestAppendToSealsEveryPayloadLength(t *testing.T) {
	six := frame()
	six.Source, six.Destination = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	one := frame()
	one.RoCEv1 = true
	for _, f := range []build.Frame{frame(), six, one} {
		f.UDPChecksum = true
		for n := range 70 {
			f.Payload = make([]byte, n)
			for i := range f.Payload {
				f.Payload[i] = byte(i * 7)
			}
			prefix := []byte{0xaa, 0xbb}
			data, err := f.AppendTo(prefix)
			if err != nil {
				t.Fatal(err)
			}
			if data[0] != 0xaa || data[1] != 0xbb {
				t.Fatal("what was there before is gone")
			}
			data = data[2:]
			if len(data) < 60 {
				t.Errorf("frame of %d bytes", len(data))
			}
			var p dissector.Packet
			err = dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data))}, &p)
			if err != nil || string(p.Payload()) != string(f.Payload) || int(p.BTH.PadCount) != -n&3 {
				t.Errorf("payload of %d: %v, %x, pad %d", n, err, p.Payload(), p.BTH.PadCount)
			}
			if got := dissector.VerifyICRC(&p); got != dissector.ICRCGood {
				t.Errorf("payload of %d: ICRC state %d", n, got)
			}
			if got := dissector.UDPChecksum(&p); !f.RoCEv1 && got != dissector.ChecksumRight {
				t.Errorf("payload of %d: checksum state %d", n, got)
			}
		}
	}
}

func TestICRCFlipSpoilsTheICRC(t *testing.T) {
	f := frame()
	f.ICRCFlip = 1
	data, err := f.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	var p dissector.Packet
	if err := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p); err != nil {
		t.Fatal(err)
	}
	if got := dissector.VerifyICRC(&p); got != dissector.ICRCBad {
		t.Errorf("ICRC state %d", got)
	}
}
