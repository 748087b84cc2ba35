package pcapfile

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// sniffLength is how many leading bytes are looked at. A tar archive's name lies at 257.
const sniffLength = 512

type content uint8

const (
	contentUnknown content = iota
	contentPcap
	contentPcapng
	contentGzip
	contentZstd
	contentXZ
)

// compression is the name that reports use; empty for a bare capture.
func (c content) compression() string {
	switch c {
	case contentGzip:
		return "gzip"
	case contentZstd:
		return "zstd"
	case contentXZ:
		return "xz"
	default:
		return ""
	}
}

var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
	magicXZ   = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
)

// sniff tells what b, the start of a file, is the start of.
func sniff(b []byte) content {
	if _, ok := pcapMagic(b); ok {
		return contentPcap
	}
	switch {
	case len(b) >= 4 && binary.BigEndian.Uint32(b) == blockSection:
		return contentPcapng
	case bytes.HasPrefix(b, magicGzip):
		return contentGzip
	case bytes.HasPrefix(b, magicZstd), isSkippableFrame(b):
		return contentZstd
	case bytes.HasPrefix(b, magicXZ):
		return contentXZ
	default:
		return contentUnknown
	}
}

// startsMagic tells whether b, of fewer than four bytes, may be all that is left of a file that is read here.
func startsMagic(b []byte) bool {
	if len(b) >= 4 {
		return false
	}
	magics := [][]byte{magicGzip, magicZstd, magicXZ, binary.BigEndian.AppendUint32(nil, blockSection)}
	for _, m := range [...]uint32{magicMicro, magicNano, magicModified} {
		magics = append(magics, binary.BigEndian.AppendUint32(nil, m), binary.LittleEndian.AppendUint32(nil, m))
	}
	return slices.ContainsFunc(magics, func(m []byte) bool { return bytes.HasPrefix(m, b) })
}

// isSkippableFrame sees zstd's skippable frames, with which pzstd begins its files.
func isSkippableFrame(b []byte) bool {
	return len(b) >= 4 && binary.LittleEndian.Uint32(b)&0xfffffff0 == 0x184d2a50
}

// pcapLayout is what a pcap magic says of the records that follow.
type pcapLayout struct {
	big      bool
	nano     bool
	modified bool
}

func pcapMagic(b []byte) (pcapLayout, bool) {
	if len(b) < 4 {
		return pcapLayout{}, false
	}
	for _, big := range [...]bool{false, true} {
		switch load32(b, big) {
		case magicMicro:
			return pcapLayout{big: big}, true
		case magicNano:
			return pcapLayout{big: big, nano: true}, true
		case magicModified:
			return pcapLayout{big: big, modified: true}, true
		}
	}
	return pcapLayout{}, false
}

func load32(b []byte, big bool) uint32 {
	if big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func load16(b []byte, big bool) uint16 {
	if big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func load64(b []byte, big bool) uint64 {
	if big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

const (
	adviceConvert = "convert it first, for example with 'editcap -F pcapng IN OUT'"
	adviceUnpack  = "unpack it and give the capture inside"
	adviceCapture = "give a pcap or pcapng file, plain or compressed with gzip, zstd or xz"
)

// known lists what is recognised only to be refused by name.
var known = []struct {
	at     int
	magic  string
	looks  string
	advice string
}{
	{0, "snoop\x00\x00\x00", "a snoop capture", adviceConvert},
	{0, "GMBU", "a Microsoft Network Monitor capture", adviceConvert},
	{0, "RTSS", "a Microsoft Network Monitor capture", adviceConvert},
	{0, "TRSNIFF data", "a Sniffer capture", adviceConvert},
	{0, "XCP\x00", "a NetXray or Sniffer capture", adviceConvert},
	{0, "iptrace ", "an AIX iptrace capture", adviceConvert},
	{0, "\x7fver", "an EtherPeek capture", adviceConvert},
	{0, "btsnoop\x00", "a Bluetooth snoop log", "it holds no network traffic"},
	{0, "NCFX", "a CommView capture", adviceConvert},
	{0, "BZh", "a bzip2 archive", adviceUnpack},
	{0, "\x04\x22\x4d\x18", "an lz4 archive", adviceUnpack},
	{0, "PK\x03\x04", "a zip archive", adviceUnpack},
	{0, "7z\xbc\xaf\x27\x1c", "a 7z archive", adviceUnpack},
	{0, "Rar!\x1a\x07", "a rar archive", adviceUnpack},
	{257, "ustar", "a tar archive", adviceUnpack},
	{0, "\x7fELF", "an ELF program or core file", adviceCapture},
	{0, "MZ", "a Windows program", adviceCapture},
	{0, "%PDF-", "a PDF document", adviceCapture},
	{0, "\x89PNG\r\n\x1a\n", "a PNG picture", adviceCapture},
	{0, "\xff\xd8\xff", "a JPEG picture", adviceCapture},
	{0, "SQLite format 3\x00", "an SQLite database", adviceCapture},
}

// refusal names what a file that is no capture looks like. start is not empty, and whole says that it is all of the file.
func refusal(start []byte, whole bool) error {
	b := start[:min(len(start), sniffLength)]
	for i := range known {
		k := &known[i]
		if len(b) > k.at && bytes.HasPrefix(b[k.at:], []byte(k.magic)) {
			return &NotCaptureError{LooksLike: k.looks, Advice: k.advice}
		}
	}
	text := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n"))
	switch {
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return &NotCaptureError{
			LooksLike: "an HTML page",
			Advice:    "a download probably answered with a page in place of the file: fetch the capture again",
		}
	case isText(b):
		return &NotCaptureError{LooksLike: "text", Advice: "a printed packet list cannot be read: " + adviceCapture}
	case isERF(start, whole):
		return &NotCaptureError{LooksLike: "a bare ERF trace", Advice: adviceConvert}
	case len(bytes.Trim(b, "\x00")) == 0:
		return &NotCaptureError{
			LooksLike: "a run of zero bytes",
			Advice:    "the copy or the disk it was written to may have failed: copy or capture it again",
		}
	default:
		return &NotCaptureError{Advice: "its first bytes belong to no known capture format: " + adviceCapture}
	}
}

func isText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return !utf8.FullRune(b) // a rune cut by the end of what was looked at
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != 0x1b {
			return false
		}
		b = b[n:]
	}
	return true
}

// erfRecords is how many ERF record headers in a row are believed. ERF has no magic, and a single header is sensible in
// a third of all random files.
const erfRecords = 3

// erfStep bounds the time between two ERF records, in seconds.
const erfStep = 24 * 60 * 60

// isERF believes in ERF record headers when times, types and lengths are all sensible and the times of neighbours lie
// near each other: as many as are needed, or fewer when the data ends where the last record does. whole says that b is
// all of the data.
func isERF(b []byte, whole bool) bool {
	const (
		header   = 16
		maxType  = 48
		earliest = 631152000  // 1990, when there was no ERF
		latest   = 4102444800 // 2100
	)
	before := int64(0)
	for seen := range erfRecords {
		if len(b) == 0 {
			return whole && seen > 0
		}
		if len(b) < header {
			return false
		}
		seconds := int64(binary.LittleEndian.Uint32(b[4:]))
		length := int(binary.BigEndian.Uint16(b[10:]))
		kind := b[8] & 0x7f
		if kind == 0 || kind > maxType || length < header || seconds < earliest || seconds > latest {
			return false
		}
		if seen > 0 && max(seconds-before, before-seconds) > erfStep {
			return false
		}
		if length > len(b) {
			return false
		}
		before, b = seconds, b[length:]
	}
	return true
}
