package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/google/uuid"
)

// What an agent sends to a service is a number of frames, each a batch as it lies in the spool:
//
//	ID       16 bytes
//	flags     1 byte    bit 0: it may have been sent before; the others are 0
//	length    4 bytes   of the batch, the lowest byte first
//	CRC-32C   4 bytes   of all that stands before it, and of the batch
//	batch
const (
	frameHeader   = 16 + 1 + 4 + 4
	flagUncertain = 1
	maxFrames     = 256 // in one request
)

// ErrBadFrames says that what came is not what agents send, and why.
var ErrBadFrames = errors.New("not what agents send")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Frame is a batch on its way to a service.
type Frame struct {
	ID        uuid.UUID
	Uncertain bool
	Data      []byte
}

// AppendFrame adds a frame to the body of a request.
func AppendFrame(b []byte, f Frame) []byte {
	from := len(b)
	b = append(b, f.ID[:]...)
	flags := byte(0)
	if f.Uncertain {
		flags = flagUncertain
	}
	b = binary.LittleEndian.AppendUint32(append(b, flags), uint32(len(f.Data)))
	sum := crc32.Update(crc32.Checksum(b[from:], castagnoli), castagnoli, f.Data)
	return append(binary.LittleEndian.AppendUint32(b, sum), f.Data...)
}

// ReadFrames takes a body apart. Frames share its memory.
func ReadFrames(body []byte) (frames []Frame, err error) {
	for len(body) > 0 {
		if len(frames) == maxFrames {
			return nil, fmt.Errorf("%w: there are more than %d batches", ErrBadFrames, maxFrames)
		}
		if len(body) < frameHeader {
			return nil, fmt.Errorf("%w: batch %d is cut off", ErrBadFrames, len(frames)+1)
		}
		head, rest := body[:frameHeader], body[frameHeader:]
		length := binary.LittleEndian.Uint32(head[17:])
		if uint64(length) > uint64(len(rest)) {
			return nil, fmt.Errorf("%w: batch %d is cut off", ErrBadFrames, len(frames)+1)
		}
		data := rest[:length:length]
		sum := crc32.Update(crc32.Checksum(head[:21], castagnoli), castagnoli, data)
		if sum != binary.LittleEndian.Uint32(head[21:]) || head[16]&^flagUncertain != 0 {
			return nil, fmt.Errorf("%w: batch %d is damaged", ErrBadFrames, len(frames)+1)
		}
		frames = append(frames, Frame{ID: uuid.UUID(head[:16]), Uncertain: head[16]&flagUncertain != 0, Data: data})
		body = rest[length:]
	}
	if len(frames) == 0 {
		return nil, fmt.Errorf("%w: there is no batch", ErrBadFrames)
	}
	return frames, nil
}
