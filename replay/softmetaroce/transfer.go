package softmetaroce

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// Transfer is what is moved, and how.
type Transfer struct {
	Operation string `json:"operation"` // write, send or read
	Size      uint64 `json:"size"`      // bytes
	Message   int    `json:"message"`   // bytes of a message, the last may be shorter
	Streams   int    `json:"streams"`   // that carry data
	Depth     int    `json:"depth"`     // messages of a stream that may be under way
	Seed      uint64 `json:"seed"`      // of the data
}

// Bounds of transfers.
const (
	MaxMessage  = 64 << 20
	maxMessages = 1 << 24
	maxDepth    = 256
)

// ErrTransfer marks a transfer that cannot be done.
var ErrTransfer = errors.New("transfer cannot be done")

func (t *Transfer) validate() error {
	if _, err := t.kind(); err != nil {
		return err
	}
	switch {
	case t.Size == 0:
		return fmt.Errorf("%w: there is nothing to be moved", ErrTransfer)
	case t.Message < 1 || t.Message > MaxMessage:
		return fmt.Errorf("%w: messages are 1 byte to %d bytes long", ErrTransfer, MaxMessage)
	case t.messages() > maxMessages:
		return fmt.Errorf("%w: more than %d messages; make them longer", ErrTransfer, maxMessages)
	case t.Streams < 1 || t.Streams > 1<<15:
		return fmt.Errorf("%w: at least 1 stream is needed", ErrTransfer)
	case t.Depth < 1 || t.Depth > maxDepth:
		return fmt.Errorf("%w: 1 to %d messages of a stream can be under way", ErrTransfer, maxDepth)
	}
	return nil
}

func (t *Transfer) kind() (metaroce.Operation, error) {
	switch t.Operation {
	case "write":
		return metaroce.OperationWrite, nil
	case "send":
		return metaroce.OperationSend, nil
	case "read":
		return metaroce.OperationRead, nil
	}
	return 0, fmt.Errorf("%w: operation %q is none of write, send and read", ErrTransfer, t.Operation)
}

func (t *Transfer) messages() uint64 { return (t.Size + uint64(t.Message) - 1) / uint64(t.Message) }

// length is that of a message in bytes.
func (t *Transfer) length(i uint64) int {
	return int(min(uint64(t.Message), t.Size-i*uint64(t.Message)))
}

// slot is the place of a message in memory. Message i goes by stream 1 + i mod Streams; its place is free when the
// message Depth before it on its stream is complete.
func (t *Transfer) slot(i uint64) int {
	n := uint64(t.Streams)
	return int(i%n + n*(i/n%uint64(t.Depth)))
}

// slots is the number of places in memory that are used.
func (t *Transfer) slots() int { return int(min(t.messages(), uint64(t.Streams)*uint64(t.Depth))) }

// memory is the size of all places, bytes.
func (t *Transfer) memory() uint64 { return uint64(t.slots()) * min(uint64(t.Message), t.Size) }

// source is the data that is moved: seeded bytes that repeat after a prime number, so that what lands in a wrong place
// differs.
type source struct {
	transfer *Transfer
	bytes    []byte
}

const period = 1<<20 + 7

func newSource(t *Transfer) *source {
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], t.Seed)
	s := &source{transfer: t, bytes: make([]byte, period+min(uint64(t.Message), t.Size))}
	_, _ = rand.NewChaCha8(seed).Read(s.bytes[:min(period, len(s.bytes))]) // never fails
	for n := period; n < len(s.bytes); n += period {
		copy(s.bytes[n:], s.bytes[:period])
	}
	return s
}

// offset is where the data of a message starts.
func (s *source) offset(i uint64) uint64 { return i * uint64(s.transfer.Message) % period }

// message is the data of a message.
func (s *source) message(i uint64) []byte {
	return s.bytes[s.offset(i):][:s.transfer.length(i)]
}

// digest collects the CRC-32C (RFC 3720, appendix B.4) of messages, which complete in any order.
type digest struct {
	sums []uint32
	done uint64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newDigest(t *Transfer) *digest { return &digest{sums: make([]uint32, t.messages())} }

// add takes the data of a message.
func (d *digest) add(i uint64, data []byte) {
	d.sums[i] = crc32.Checksum(data, castagnoli)
	d.done++
}

func (d *digest) complete() bool { return d.done == uint64(len(d.sums)) }

// text is the SHA-256 of all sums.
func (d *digest) text() string {
	h := sha256.New()
	var b [4]byte
	for _, sum := range d.sums {
		binary.BigEndian.PutUint32(b[:], sum)
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// note is what both ends tell each other by SENDs on stream 0, in JSON: "hello" and "end" of the end that asks, "ready"
// and "result" of the other.
type note struct {
	Kind     string   `json:"kind"`
	Transfer Transfer `json:"transfer,omitzero"`
	RKey     uint32   `json:"rkey,omitempty"` // of the memory, whose addresses start at 0
	Digest   string   `json:"digest,omitempty"`
	Error    string   `json:"error,omitempty"`
}

const (
	noteHello  = "hello"
	noteReady  = "ready"
	noteEnd    = "end"
	noteResult = "result"

	noteBytes = 4096
)
