package compliance

import (
	"encoding/json"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Application is what the target has to serve beside the transport, so that there is memory to write and read: that of
// `rocelens softmetaroce serve`. On stream 0 at least two receive buffers of 4 KiB are posted. A SEND of
//
//	{"kind":"hello","transfer":{"operation":"write","size":1048576,"message":1048576,"streams":1,"depth":1,"seed":1}}
//
// is answered by a SEND on stream 0 of
//
//	{"kind":"ready","rkey":1234}
//
// which grants 1 MiB from address 0 on to be read, written and used by atomics with that key, on streams 1 and above.
type Application struct {
	Kind     string   `json:"kind"`
	Transfer transfer `json:"transfer,omitzero"`
	RKey     uint32   `json:"rkey,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// transfer is what a hello asks for.
type transfer struct {
	Operation string `json:"operation"`
	Size      uint64 `json:"size"`
	Message   int    `json:"message"`
	Streams   int    `json:"streams"`
	Depth     int    `json:"depth"`
	Seed      uint64 `json:"seed"`
}

// memoryBytes is what the suite asks for.
const memoryBytes = 1 << 20

// hello is the text that asks for memory.
func hello() []byte {
	text, err := json.Marshal(&Application{Kind: "hello", Transfer: transfer{Operation: "write", Size: memoryBytes, Message: memoryBytes, Streams: 1, Depth: 1, Seed: 1}})
	if err != nil {
		panic(err) // a struct of texts and numbers
	}
	return text
}

// withMemory is a connection whose target has given memory.
func (x *attempt) withMemory(change ...func(c *mr0.CONN)) *conn {
	c := x.connect(change...)
	c.askForMemory()
	return c
}

// askForMemory sends a hello and takes the answer.
func (c *conn) askForMemory() {
	c.deliver(c.sends(controlPath, hello())...)
	c.ready()
}

// ready waits for the note that grants memory.
func (c *conn) ready() {
	n := c.note()
	if n == nil || n.Kind != "ready" || n.Error != "" {
		c.x.undetermined("the target gave no memory to read and write: it does not answer as softmetaroce serve does")
	}
	c.memory = n.RKey
}

// note waits for the next SEND of the target on stream 0; nil when none comes.
func (c *conn) note() *Application {
	var m *message
	key := messageKey{mr0.TypeSend, 0, c.notes}
	if !c.x.until(4*c.x.timeout(), func() bool { m = c.received[key]; return m.complete() }) {
		return nil
	}
	c.notes++
	var n Application
	if json.Unmarshal(m.data, &n) != nil {
		return nil
	}
	return &n
}

// sends is a SEND on stream 0, cut into packets.
func (c *conn) sends(path int, text []byte) []*outgoing {
	out := c.cut(mr0.TypeSend, path, 0, c.next(0), text)
	for _, o := range out {
		o.SETH = mr0.SETH{ReceiveIndex: c.index}
	}
	c.index++
	return out
}

// next is the next msn of a stream.
func (c *conn) next(stream uint16) uint32 {
	n := c.msn[stream]
	c.msn[stream]++
	return n
}

// cut makes packets of a message.
func (c *conn) cut(kind mr0.Type, path int, stream uint16, msn uint32, data []byte) []*outgoing {
	var out []*outgoing
	for offset := 0; offset == 0 || offset < len(data); offset += c.mtu {
		end := min(offset+c.mtu, len(data))
		o := &outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: kind, PathID: uint8(path)}}, payload: data[offset:end]}
		o.DH = mr0.DH{StreamID: stream, MSN: msn, MessageOffset: uint32(offset), MessageLength: uint32(len(data))}
		if offset == 0 {
			o.CH.Flags |= mr0.FlagFirst
		}
		if end == len(data) {
			o.CH.Flags |= mr0.FlagLast
		}
		out = append(out, o)
	}
	return out
}

// writes is a WRITE to the granted memory, cut into packets.
func (c *conn) writes(path int, stream uint16, msn uint32, address uint64, data []byte) []*outgoing {
	out := c.cut(mr0.TypeWrite, path, stream, msn, data)
	for _, o := range out {
		o.WETH = mr0.WETH{VirtualAddress: address + uint64(o.DH.MessageOffset), RKey: c.memory}
	}
	return out
}

// readRequest is a READ of the granted memory.
func (c *conn) readRequest(path int, stream uint16, msn uint32, address uint64, length int) *outgoing {
	c.reads++
	o := &outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeReadReq, PathID: uint8(path), Flags: mr0.FlagFirst}}}
	if length == 0 {
		o.CH.Flags |= mr0.FlagLast
	}
	o.DH = mr0.DH{StreamID: stream, MSN: msn, MessageLength: uint32(length)}
	o.RRETH = mr0.RRETH{VirtualAddress: address, RKey: c.memory, ReadID: c.reads}
	return o
}

// atomic is an atomic on the granted memory, on stream 1.
func (c *conn) atomic(path int, msn uint32, address uint64, operation mr0.AtomicOperation, swapOrAdd, compare uint64) *outgoing {
	o := &outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeAtomicReq, PathID: uint8(path), Flags: mr0.FlagFirst | mr0.FlagLast}}}
	o.DH = mr0.DH{StreamID: 1, MSN: msn}
	o.AETH = mr0.AETH{VirtualAddress: address, RKey: c.memory, Operation: operation, SwapOrAdd: swapOrAdd, Compare: compare}
	return o
}

// read reads the granted memory, on a stream of which nothing is under way.
func (c *conn) read(stream uint16, address uint64, length int) []byte {
	msn := c.next(stream)
	c.deliver(c.readRequest(controlPath, stream, msn, address, length))
	return c.answer(stream, msn, length)
}

// answer waits for the answer to a READ.
func (c *conn) answer(stream uint16, msn uint32, length int) []byte {
	var m *message
	key := messageKey{mr0.TypeReadResp, stream, msn}
	if !c.x.until(6*c.x.timeout(), func() bool { m = c.received[key]; return m.complete() }) {
		left := length
		var last *packet
		if m != nil {
			left, last = m.missing, m.last
		}
		if last == nil {
			last = c.x.packets[len(c.x.packets)-1]
		}
		c.x.fail("the answer to a READ", plural(left, "byte")+" of it did not come", last)
	}
	return m.data
}

// pattern is data that tells where it belongs.
func pattern(length int, seed byte) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(i*7+i>>8*13) + seed
	}
	return b
}
