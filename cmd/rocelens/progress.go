package main

import (
	"fmt"
	"io"
	"time"

	"github.com/rocelens/rocelens/analysis"
)

const (
	progressInterval = 200 * time.Millisecond
	eraseLine        = "\r\x1b[K"
)

// showProgress keeps one line on a terminal up to date until the returned function is called, which erases it.
func showProgress(std *streams, a *analysis.Analyzer) (stop func()) {
	if !std.ErrTTY {
		return func() {}
	}
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				fmt.Fprint(std.Err, eraseLine)
				return
			case <-ticker.C:
				writeProgress(std.Err, a.Progress())
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}

func writeProgress(w io.Writer, p analysis.Progress) {
	line := bytesText(uint64(max(p.BytesRead, 0)))
	if p.BytesTotal > 0 {
		line = fmt.Sprintf("%s of %s (%d %%)", line, bytesText(uint64(p.BytesTotal)), min(100, p.BytesRead*100/p.BytesTotal))
	}
	line += fmt.Sprintf(", %s packets, %s packets/s", countText(p.Packets), countText(uint64(p.Rate)))
	if p.Left >= 0 {
		line += ", " + p.Left.Round(time.Second).String() + " left"
	}
	fmt.Fprint(w, eraseLine+line)
}
