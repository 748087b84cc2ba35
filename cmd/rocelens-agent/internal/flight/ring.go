package flight

import (
	"encoding/binary"
	"iter"
	"os"
)

// ring keeps the latest packets in one piece of memory that is made once. The oldest make room.
type ring struct {
	data       []byte
	head, tail uint64 // all bytes that were ever written, and the first of those that are still there
}

// packet is a packet of a ring. Its bytes are the ring's.
type packet struct {
	Number         uint64
	Time           int64 // ns since the Unix epoch
	OriginalLength uint32
	LinkType       uint16
	Data           []byte
}

const (
	packetHeader = 24
	// wrapped stands for the length of a packet where the rest of the memory is left free.
	wrapped = 0xffff
	// maxCut is how many bytes of a packet can be kept.
	maxCut  = 9216
	minRing = 1 << 20
)

func newRing(bytes int) *ring {
	r := &ring{data: make([]byte, max(bytes, minRing)&^7)}
	for i := 0; i < len(r.data); i += os.Getpagesize() { // so that no packet waits for the kernel to find memory
		r.data[i] = 0
	}
	return r
}

func (r *ring) reset() { r.head, r.tail = 0, 0 }

func sizeOf(captured int) uint64 { return uint64(packetHeader+captured+7) &^ 7 }

// put appends a packet, of at most maxCut bytes.
func (r *ring) put(p *packet) {
	size := uint64(len(r.data))
	need := sizeOf(len(p.Data))
	at := r.head % size
	if rest := size - at; rest < need {
		r.makeRoom(rest)
		if rest >= packetHeader {
			binary.LittleEndian.PutUint16(r.data[at+20:], wrapped)
		}
		r.head += rest
		at = 0
	}
	r.makeRoom(need)
	b := r.data[at : at+need]
	binary.LittleEndian.PutUint64(b, p.Number)
	binary.LittleEndian.PutUint64(b[8:], uint64(p.Time))
	binary.LittleEndian.PutUint32(b[16:], p.OriginalLength)
	binary.LittleEndian.PutUint16(b[20:], uint16(len(p.Data)))
	binary.LittleEndian.PutUint16(b[22:], p.LinkType)
	copy(b[packetHeader:], p.Data)
	r.head += need
}

// makeRoom lets go of the oldest packets until so many bytes are free.
func (r *ring) makeRoom(need uint64) {
	for uint64(len(r.data))-(r.head-r.tail) < need {
		r.tail += r.step(r.tail)
	}
}

// step is how many bytes lie between a packet, or the free rest of the memory, and the next one.
func (r *ring) step(from uint64) uint64 {
	at := from % uint64(len(r.data))
	rest := uint64(len(r.data)) - at
	if rest < packetHeader {
		return rest
	}
	captured := binary.LittleEndian.Uint16(r.data[at+20:])
	if captured == wrapped {
		return rest
	}
	return sizeOf(int(captured))
}

// packets are those that are there, in the order in which they came. Each is valid until the next one.
func (r *ring) packets() iter.Seq[*packet] {
	return func(yield func(*packet) bool) {
		var p packet
		for from := r.tail; from != r.head; from += r.step(from) {
			at := from % uint64(len(r.data))
			if uint64(len(r.data))-at < packetHeader {
				continue
			}
			b := r.data[at:]
			captured := binary.LittleEndian.Uint16(b[20:])
			if captured == wrapped {
				continue
			}
			p = packet{
				Number: binary.LittleEndian.Uint64(b), Time: int64(binary.LittleEndian.Uint64(b[8:])),
				OriginalLength: binary.LittleEndian.Uint32(b[16:]), LinkType: binary.LittleEndian.Uint16(b[22:]),
				Data: b[packetHeader : packetHeader+int(captured)],
			}
			if !yield(&p) {
				return
			}
		}
	}
}
