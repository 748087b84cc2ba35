package kernel

import (
	"github.com/rocelens/rocelens/capture/xdp"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
)

var reasons = [...]string{
	xdp.NotRDMA: watch.DropNotRDMA, xdp.Unsupported: watch.DropUnsupported, xdp.Fragment: watch.DropFragment,
	xdp.Truncated: watch.DropTruncated, xdp.Malformed: watch.DropMalformed, xdp.Doubtful: watch.DropDoubtful,
	xdp.Pause: watch.DropPause, xdp.Segmented: watch.DropSegmented, xdp.Overflow: watch.DropTableFull,
}

// enter adds the account of a sweep. What its records count is entered with their rows.
func enter(a *watch.Account, l *xdp.Ledger) {
	a.SourceIn += l.Packets()
	a.SourceOut += l.Packets()
	a.DecodeOut += l.RDMA + l.Others[xdp.Overflow]
	a.Bytes += l.RDMABytes + l.OtherBytes
	a.RDMABytes += l.RDMABytes
	for i, n := range l.Others {
		if n > 0 {
			a.Drops[reasons[i]] += n
		}
	}
}
