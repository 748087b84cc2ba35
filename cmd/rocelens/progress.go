package main

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/rocelens/rocelens/analysis"
)

const (
	progressInterval = 200 * time.Millisecond
	findingsInterval = time.Second
	eraseLine        = "\r\x1b[K"
)

// showProgress keeps one line on a terminal up to date until the returned function is called, which erases it.
func showProgress(std *streams, a *analysis.Analyzer) (stop func()) {
	if !std.ErrTTY {
		return func() {}
	}
	return every(progressInterval, func() { writeProgress(std.Err, a.Progress()) }, func() { fmt.Fprint(std.Err, eraseLine) })
}

// every calls show again and again until the returned function is called, which calls end, once.
func every(interval time.Duration, show, end func()) (stop func()) {
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				end()
				return
			case <-ticker.C:
				show()
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}

// showFindings keeps what was found so far on a terminal until the returned function is called, which erases it.
func showFindings(std *streams, a *analysis.Analyzer) (stop func()) {
	if !std.ErrTTY {
		return func() {}
	}
	view := findings{w: std.Err, text: textOutput{style: newStyle(std)}}
	return every(findingsInterval, func() {
		result := a.Snapshot()
		view.update(&result)
	}, view.erase)
}

// findings redraws the totals in place.
type findings struct {
	w     io.Writer
	text  textOutput
	lines int // on the screen
}

func (f *findings) update(result *analysis.Result) {
	var page bytes.Buffer
	f.text.writeTotals(&page, result)
	f.erase()
	f.lines = bytes.Count(page.Bytes(), []byte("\n"))
	fmt.Fprintf(f.w, "%s", &page)
}

func (f *findings) erase() {
	if f.lines > 0 {
		fmt.Fprintf(f.w, "\x1b[%dA\x1b[J", f.lines)
	}
	f.lines = 0
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
