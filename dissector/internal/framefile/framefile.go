// Package framefile reads the frames of capture files for the tests below the dissector, which must not
// depend on the package that reads captures for users. It takes what is whole and passes over the rest.
package framefile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelens/rocelens/dissector"
)

// Frame is one record of a capture file.
type Frame struct {
	Data []byte
	Meta dissector.Meta
}

// Read reads the frames of a pcap or pcapng file, which may be compressed with gzip.
func Read(tb testing.TB, path string) []Frame {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			tb.Fatal(err)
		}
		if raw, err = io.ReadAll(r); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			tb.Fatal(err)
		}
	}
	if bytes.HasPrefix(raw, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		return readPcapng(raw)
	}
	return readPcap(raw)
}

func readPcap(raw []byte) []Frame {
	const header, record = 24, 16
	if len(raw) < header {
		return nil
	}
	var order binary.ByteOrder = binary.LittleEndian
	unit := int64(1000)
	switch binary.BigEndian.Uint32(raw) {
	case 0xd4c3b2a1:
	case 0x4d3cb2a1:
		unit = 1
	case 0xa1b2c3d4:
		order = binary.BigEndian
	case 0xa1b23c4d:
		order, unit = binary.BigEndian, 1
	default:
		return nil
	}
	network := order.Uint32(raw[20:])
	meta := dissector.Meta{LinkType: dissector.LinkType(network), HasTime: true}
	if network&0x04000000 != 0 {
		meta.FCSLength = uint8(network >> 28)
	}
	var frames []Frame
	for off := header; off+record <= len(raw); {
		meta.Time = int64(order.Uint32(raw[off:]))*1e9 + int64(order.Uint32(raw[off+4:]))*unit
		n := int(order.Uint32(raw[off+8:]))
		meta.OriginalLength = order.Uint32(raw[off+12:])
		meta.Number++
		off += record
		if n > len(raw)-off {
			break
		}
		frames = append(frames, Frame{raw[off : off+n], meta})
		off += n
	}
	return frames
}

func readPcapng(raw []byte) []Frame {
	options := pcapgo.DefaultNgReaderOptions
	options.WantMixedLinkType = true
	r, err := pcapgo.NewNgReader(bytes.NewReader(raw), options)
	if err != nil {
		return nil
	}
	var frames []Frame
	for number := uint64(1); ; number++ {
		data, info, err := r.ReadPacketData()
		if err != nil {
			return frames
		}
		link := r.LinkType()
		if i, err := r.Interface(info.InterfaceIndex); err == nil {
			link = i.LinkType
		}
		frames = append(frames, Frame{data, dissector.Meta{
			Number: number, OriginalLength: uint32(info.Length), Interface: uint32(info.InterfaceIndex),
			LinkType: dissector.LinkType(link),
		}})
	}
}

// Shared is the folder of public captures, which are not part of this repository; the test is skipped when
// it is not there. up is the path from the test's folder to the root of the repository.
func Shared(tb testing.TB, up string) string {
	tb.Helper()
	dir := SharedOrNone(up)
	if dir == "" {
		tb.Skip("no folder of public captures: set ROCELENS_CAPTURES")
	}
	return dir
}

// SharedOrNone is the folder of public captures, or "" when it is not there.
func SharedOrNone(up string) string {
	dir := os.Getenv("ROCELENS_CAPTURES")
	if dir == "" {
		dir = filepath.Join(up, "..", "shared", "captures")
	}
	if _, err := os.Stat(dir); err != nil { //nolint:gosec // the folder is the tester's own choice
		return ""
	}
	return dir
}
