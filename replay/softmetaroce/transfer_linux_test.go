package softmetaroce

import (
	"fmt"
	"testing"
)

// Whatever the size and the operation, what lands is what was sent.
func TestTransfersOverLoopback(t *testing.T) {
	for _, operation := range []string{"write", "send", "read"} {
		for _, size := range []uint64{1, 255, 4096, 4097, 1 << 20, 64 << 20} {
			t.Run(fmt.Sprintf("%s/%d", operation, size), func(t *testing.T) {
				r := run{transfer: Transfer{Operation: operation, Size: size, Message: 1 << 18, Streams: 4, Depth: 4, Seed: size}}
				client, _ := r.must(t)
				if size == 64<<20 {
					t.Logf("%.2f Gbit/s %+v %+v", client.Goodput/1e9, client.Sockets, client.Connection.Transport)
				}
			})
		}
	}
}
