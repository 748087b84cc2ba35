package dissector_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelens/rocelens/dissector"
)

// frame is one record of a capture file.
type frame struct {
	data []byte
	meta dissector.Meta
}

// readCapture reads what there is of a capture; these tests need its frames, not the verdict on the file.
func readCapture(tb testing.TB, path string) []frame {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if len(raw) > 2 && raw[0] == 0x1f && raw[1] == 0x8b {
		r, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			tb.Fatal(err)
		}
		raw, err = io.ReadAll(r)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			tb.Fatal(err)
		}
	}
	if len(raw) >= 4 && binary.BigEndian.Uint32(raw) == 0x0a0d0d0a {
		return readPcapng(tb, raw)
	}
	return readPcap(raw)
}

func readPcap(raw []byte) []frame {
	const header, record = 24, 16
	if len(raw) < header {
		return nil
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch order.Uint32(raw) {
	case 0xa1b2c3d4, 0xa1b23c4d:
	case 0xd4c3b2a1, 0x4d3cb2a1:
		order = binary.BigEndian
	default:
		return nil
	}
	network := order.Uint32(raw[20:])
	meta := dissector.Meta{LinkType: dissector.LinkType(network & 0xffff)}
	if network&0x04000000 != 0 {
		meta.FCSLength = uint8(network >> 28)
	}
	var frames []frame
	for off := header; off+record <= len(raw); {
		n := int(order.Uint32(raw[off+8:]))
		meta.OriginalLength = order.Uint32(raw[off+12:])
		meta.Number++
		off += record
		if n > len(raw)-off {
			break
		}
		frames = append(frames, frame{raw[off : off+n], meta})
		off += n
	}
	return frames
}

func readPcapng(tb testing.TB, raw []byte) []frame {
	tb.Helper()
	options := pcapgo.DefaultNgReaderOptions
	options.WantMixedLinkType = true
	r, err := pcapgo.NewNgReader(bytes.NewReader(raw), options)
	if err != nil {
		return nil
	}
	var frames []frame
	for number := uint64(1); ; number++ {
		data, info, err := r.ReadPacketData()
		if err != nil {
			return frames
		}
		link := r.LinkType()
		if i, err := r.Interface(info.InterfaceIndex); err == nil {
			link = i.LinkType
		}
		frames = append(frames, frame{data, dissector.Meta{
			Number: number, OriginalLength: uint32(info.Length),
			Interface: uint32(info.InterfaceIndex), LinkType: dissector.LinkType(link),
		}})
	}
}

// sharedCaptures is the folder of public captures, which are not part of this repository.
func sharedCaptures(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("ROCELENS_CAPTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "captures")
	}
	if _, err := os.Stat(dir); err != nil {
		tb.Skip("no folder of public captures: set ROCELENS_CAPTURES")
	}
	return dir
}

// filesWith lists the files below dir whose name ends in suffix.
func filesWith(tb testing.TB, dir, suffix string) []string {
	tb.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, suffix) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) == 0 {
		tb.Fatalf("no *%s below %s", suffix, dir)
	}
	return files
}

// readTable reads a tab-separated file with a header line into one map a line.
func readTable(tb testing.TB, path string) []map[string]string {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, v := range strings.Split(line, "\t") {
			if i < len(names) {
				row[names[i]] = v
			}
		}
		rows = append(rows, row)
	}
	return rows
}
