// Package framefile reads the frames of capture files for the tests below the dissector, which must not
// depend on the package that reads captures for users. It takes what is whole and passes over the rest.
package framefile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
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

// Write puts frames into a new pcapng file with nanosecond time stamps, one interface for each link type, and
// answers its name. It numbers frames and interfaces in Meta as a reader of the file will.
func Write(tb testing.TB, frames []Frame) string {
	tb.Helper()
	const (
		sectionHeader, interfaceBlock, packetBlock = 0x0a0d0d0a, 1, 6
		resolution, nanoseconds                    = 9, 9 // option code and value of if_tsresol
		fcsLength                                  = 13   // option code of if_fcslen
	)
	var file []byte
	order := binary.LittleEndian
	block := func(kind uint32, body []byte) {
		body = append(body, make([]byte, -len(body)&3)...)
		length := uint32(len(body) + 12)
		file = order.AppendUint32(order.AppendUint32(file, kind), length)
		file = order.AppendUint32(append(file, body...), length)
	}
	words := func(values ...uint32) (b []byte) {
		for _, v := range values {
			b = order.AppendUint32(b, v)
		}
		return b
	}
	block(sectionHeader, words(0x1a2b3c4d, 1, math.MaxUint32, math.MaxUint32))
	type link struct {
		kind dissector.LinkType
		fcs  uint8
	}
	interfaces := map[link]uint32{}
	for i := range frames {
		m := &frames[i].Meta
		kind := link{m.LinkType, m.FCSLength}
		index, known := interfaces[kind]
		if !known {
			index = uint32(len(interfaces))
			interfaces[kind] = index
			block(interfaceBlock, words(uint32(kind.kind), 0, 1<<16|resolution, nanoseconds, 1<<16|fcsLength, uint32(kind.fcs), 0))
		}
		m.Number, m.Interface = uint64(i+1), index
		data := frames[i].Data
		block(packetBlock, append(words(index, uint32(m.Time>>32), uint32(m.Time), uint32(len(data)), m.OriginalLength), data...))
	}
	path := filepath.Join(tb.TempDir(), "frames.pcapng")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
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
