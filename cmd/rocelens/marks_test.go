package main

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// marked is a capture of 40 WRITEs, two a millisecond, every fourth of which arrives marked CE, with what the capture has of
// the way back: ACKs, and CNPs 50 µs after the marks.
func marked(t *testing.T, acks, cnps bool) string {
	t.Helper()
	var file bytes.Buffer
	w, err := pcapfile.NewWriter(&file, pcapfile.FormatPcap, pcapfile.WriterOptions{Nanosecond: true})
	require.NoError(t, err)
	const start, step = 1_700_000_000_000_000_000, int64(500 * time.Microsecond)
	put := func(at int64, back bool, f build.Frame) {
		f.Source, f.Destination, f.SourcePort = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), 50000
		f.BTH.DestinationQP, f.BTH.PartitionKey = 0x11, infiniband.DefaultPartitionKey
		if back {
			f.Source, f.Destination, f.BTH.DestinationQP = f.Destination, f.Source, 0x22
		}
		data, err := f.AppendTo(nil)
		require.NoError(t, err)
		require.NoError(t, w.WriteFrame(&capture.Frame{Data: data, Time: start + at, HasTime: true}))
	}
	for i := range uint32(40) {
		at, mark := int64(i)*step, i%4 == 0
		data := build.Frame{ECN: dissector.ECNECT0, BTH: infiniband.BTH{Opcode: infiniband.RCWriteOnly, PSN: 100 + i, AckRequest: true}, Payload: make([]byte, 256)}
		data.RETH.DMALength = 256
		if mark {
			data.ECN = dissector.ECNCE
		}
		put(at, false, data)
		if acks {
			put(at+10_000, true, build.Frame{BTH: infiniband.BTH{Opcode: infiniband.RCAcknowledge, PSN: 100 + i}, AETH: infiniband.AETH{Syndrome: 0x1f, MSN: 1 + i}})
		}
		if mark && cnps {
			put(at+50_000, true, build.Frame{BTH: infiniband.BTH{Opcode: infiniband.CNP, BECN: true}})
		}
	}
	path := filepath.Join(t.TempDir(), "marks.pcap")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	return path
}

// Marks that no CNP answers are told, and whether the capture could have seen one.
func TestMarksWithoutCNPsAreTold(t *testing.T) {
	answered := execute(t, nil, "replay", marked(t, true, true))
	assert.NotContains(t, answered.out, "roce.cnp-missing")

	silent := execute(t, nil, "replay", marked(t, true, false))
	assert.Contains(t, silent.out, "roce.cnp-missing")
	assert.Contains(t, silent.out, "no CNP came within 1ms")

	oneWay := execute(t, nil, "replay", marked(t, false, false))
	assert.Contains(t, oneWay.out, "undetermined roce.cnp-missing")
	assert.Contains(t, oneWay.out, "the capture has no packet of the way back")
	assert.NotContains(t, oneWay.out, "diverges roce.cnp-missing")
}
