package mr0_test

import (
	"testing"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func BenchmarkDecode(b *testing.B) {
	for _, typ := range []mr0.Type{mr0.TypeWrite, mr0.TypeACK} {
		b.Run(typ.String(), func(b *testing.B) {
			var p mr0.Packet
			p.CH.Type = typ
			p.CH.Flags = 0
			p.DH.MessageLength = 10000
			p.DH.MessageOffset = 4096
			var payload []byte
			if typ == mr0.TypeWrite {
				payload = make([]byte, 4096)
			}
			data, err := p.AppendDatagram(nil, payload, from, to)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := mr0.Decode(data, &p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
