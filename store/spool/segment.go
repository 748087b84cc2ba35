package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

const (
	magic         = "rlspool1"
	idLength      = 16
	segmentHeader = len(magic) + idLength + 8 + 4
	recordHeader  = 4 + 4 + 8 + 8 + 4
	crcLength     = 4

	// MaxRecord is how long the data of one record may be, bytes.
	MaxRecord = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errHeader says that bytes do not begin as a segment does.
var errHeader = errors.New("not the beginning of a segment")

// place is where a record lies in its segment, and what its header says.
type place struct {
	offset   int64 // of the record's header
	length   uint32
	units    uint32
	sequence uint64
	time     int64
}

func (p *place) end() int64 { return p.offset + recordHeader + int64(p.length) }

// contents is what was found in the bytes of a segment.
type contents struct {
	id      [idLength]byte
	first   uint64 // sequence of the first record
	records []place
	end     int64 // behind the last whole record: what follows is none
	skipped int64 // bytes between records that belong to none
}

func appendSegmentHeader(b []byte, id [idLength]byte, first uint64) []byte {
	start := len(b)
	b = append(b, magic...)
	b = append(b, id[:]...)
	b = binary.LittleEndian.AppendUint64(b, first)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

func appendRecord(b []byte, sequence uint64, e *Entry) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Data)))
	b = binary.LittleEndian.AppendUint32(b, e.Units)
	b = binary.LittleEndian.AppendUint64(b, sequence)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Time))
	sum := crc32.Update(crc32.Checksum(b[start:], castagnoli), castagnoli, e.Data)
	b = binary.LittleEndian.AppendUint32(b, sum)
	return append(b, e.Data...)
}

// scan finds the records of a segment. It fails only when the segment's own header is damaged; of damaged records it
// skips as many bytes as it must until another one begins. Any bytes may be given.
func scan(data []byte) (contents, error) {
	var c contents
	if len(data) < segmentHeader || !bytes.HasPrefix(data, []byte(magic)) {
		return c, errHeader
	}
	sum := binary.LittleEndian.Uint32(data[segmentHeader-crcLength:])
	if crc32.Checksum(data[:segmentHeader-crcLength], castagnoli) != sum {
		return c, errHeader
	}
	copy(c.id[:], data[len(magic):])
	c.first = binary.LittleEndian.Uint64(data[len(magic)+idLength:])
	if c.first == 0 {
		return c, errHeader // numbers begin with 1
	}
	c.end = int64(segmentHeader)
	next := c.first
	for offset := c.end; offset < int64(len(data)); {
		p, ok := recordAt(data, offset, next)
		if !ok {
			offset++ // look for the next record behind the damage
			continue
		}
		c.skipped += offset - c.end
		c.records = append(c.records, p)
		offset, c.end, next = p.end(), p.end(), p.sequence+1
	}
	return c, nil
}

// recordAt reads the record at an offset if there is one whose sequence is next or, after damage, not much later.
func recordAt(data []byte, offset int64, next uint64) (place, bool) {
	rest := data[offset:]
	if len(rest) < recordHeader {
		return place{}, false
	}
	p := readHeader(rest)
	p.offset = offset
	// No more records can have been lost than would have fitted in.
	if p.sequence-next > uint64(len(data)/recordHeader) || p.sequence == ^uint64(0) {
		return place{}, false
	}
	if uint64(p.length) > uint64(len(rest)-recordHeader) {
		return place{}, false
	}
	return p, intact(rest[:recordHeader+int(p.length)])
}

func readHeader(record []byte) place {
	return place{
		length:   binary.LittleEndian.Uint32(record),
		units:    binary.LittleEndian.Uint32(record[4:]),
		sequence: binary.LittleEndian.Uint64(record[8:]),
		time:     int64(binary.LittleEndian.Uint64(record[16:])),
	}
}

// intact compares a whole record, which must be as long as its header says, with its checksum.
func intact(record []byte) bool {
	const covered = recordHeader - crcLength
	sum := crc32.Update(crc32.Checksum(record[:covered], castagnoli), castagnoli, record[recordHeader:])
	return sum == binary.LittleEndian.Uint32(record[covered:])
}
