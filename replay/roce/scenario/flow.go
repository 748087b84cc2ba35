package scenario

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocelens/rocelens/replay/roce"
)

// flow is the work of one side of a connection, and what has to come of it at the peer.
type flow struct {
	random *rand.Rand
	memory *memory // of the peer
	key    uint32  // of its regions
	config *Config

	requests  []roce.WorkRequest
	posted    int
	completed int
	postAt    time.Duration // of the next request, when it has been drawn
	drawn     bool

	receives  []roce.WorkRequest // the peer's SENDs and WRITEs with immediate, in order
	buffers   [][]byte
	offered   int // buffers posted
	received  int
	receiveAt time.Duration // of a buffer that is late
	late      bool

	written, target []byte   // what the peer's memory must become, and it
	readable        []byte   // the peer's memory to be read
	counters        []byte   // the peer's counters
	adds            []uint64 // what each must become
	err             error    // that ended the QP
	faults          []string
}

// Keys of memory, plus four times the connection's number, plus 2^20 for that of servers.
const (
	keyWrite, keyRead, keyAtomic = 1, 2, 3
	base                         = 1 << 33
	readableBytes                = 1 << 16
	counterCount                 = 4
)

// newFlow draws the work.
func newFlow(c *Config, r *rand.Rand, peer *Host, connection, mtu, messages int) *flow {
	f := &flow{random: r, config: c, adds: make([]uint64, counterCount)}
	total := 0
	for _, weight := range c.Mix {
		total += weight
	}
	f.readable = make([]byte, min(readableBytes, max(c.MaxMessage, 1)))
	fill(r, f.readable)
	f.counters = make([]byte, 8*counterCount)
	key := uint32(4 * connection)
	if peer.Server {
		key += 1 << 20
	}
	for i := range messages {
		op, at := roce.Operation(0), r.IntN(total)
		for at >= c.Mix[op] {
			at -= c.Mix[op]
			op++
		}
		w := roce.WorkRequest{ID: uint64(i + 1), Operation: op, Immediate: r.Uint32(), Solicited: r.IntN(4) == 0}
		f.draw(&w, key)
		f.requests = append(f.requests, w)
	}
	f.target = make([]byte, len(f.written))
	f.memory, f.key = peer.memory, key
	peer.memory.mtu[key+keyWrite] = mtu
	peer.memory.Regions[key+keyWrite] = roce.Region{Address: base, Bytes: f.target, Access: roce.AccessWrite}
	peer.memory.Regions[key+keyRead] = roce.Region{Address: base, Bytes: f.readable, Access: roce.AccessRead}
	peer.memory.Regions[key+keyAtomic] = roce.Region{Address: base, Bytes: f.counters, Access: roce.AccessAtomic}
	return f
}

// draw fills in sizes, addresses and data.
func (f *flow) draw(w *roce.WorkRequest, key uint32) {
	size := f.size()
	switch w.Operation {
	case roce.OperationWrite, roce.OperationWriteImmediate:
		w.RKey, w.RemoteAddress = key+keyWrite, base+uint64(len(f.written))
		w.Data = make([]byte, size)
		fill(f.random, w.Data)
		f.written = append(f.written, w.Data...)
	case roce.OperationRead:
		size = min(size, len(f.readable))
		w.RKey, w.RemoteAddress = key+keyRead, base+uint64(f.random.IntN(len(f.readable)-size+1))
		w.Data = make([]byte, size)
	case roce.OperationFetchAdd:
		i := f.random.IntN(counterCount)
		w.RKey, w.RemoteAddress, w.SwapOrAdd = key+keyAtomic, base+8*uint64(i), 1+uint64(f.random.IntN(9))
		f.adds[i] += w.SwapOrAdd
	case roce.OperationCompareSwap: // never equal: leaves the sum alone
		w.RKey, w.RemoteAddress = key+keyAtomic, base+8*uint64(f.random.IntN(counterCount))
		w.Compare, w.SwapOrAdd = 1<<63, 7
	default:
		w.Invalidate = f.random.Uint32()
		w.Data = make([]byte, size)
		fill(f.random, w.Data)
	}
	if w.Operation <= roce.OperationSendInvalidate || w.Operation == roce.OperationWriteImmediate {
		f.receives = append(f.receives, *w)
	}
}

// size is small often, a few packets mostly, as long as may be sometimes.
func (f *flow) size() int {
	most := f.config.MaxMessage
	switch f.random.IntN(4) {
	case 0:
		return f.random.IntN(min(most, 64) + 1)
	case 1:
		return min(most, f.config.QP.MTU*f.random.IntN(4))
	}
	return f.random.IntN(most + 1)
}

func fill(r *rand.Rand, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, r.Uint64())
	}
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// post hands work to the QP as far as its depth and the pauses between requests allow.
func (f *flow) post(now time.Duration, qp *roce.QP) {
	for f.err == nil && f.posted < len(f.requests) && f.posted-f.completed < f.config.QueueDepth {
		if !f.drawn && f.config.Think > 0 {
			f.postAt = now + time.Duration(f.random.ExpFloat64()*float64(f.config.Think))
		}
		f.drawn = true
		if f.postAt > now {
			return
		}
		f.drawn = false
		if err := qp.Post(f.requests[f.posted]); err != nil {
			f.fault("request %d cannot be posted: %v", f.posted+1, err)
			f.err = err
			return
		}
		f.posted++
	}
}

// offer posts receive buffers for what the other side's flow sends.
func (f *flow) offer(now time.Duration, qp *roce.QP) {
	for f.err == nil && f.offered < len(f.receives) && f.offered-f.received < f.config.ReceiveAhead {
		if f.late && f.receiveAt > now {
			return
		}
		if !f.late && f.config.Unready > 0 && f.random.Float64() < f.config.Unready {
			f.late, f.receiveAt = true, now+f.config.UnreadyFor
			return
		}
		f.late = false
		b := make([]byte, len(f.receives[f.offered].Data))
		if qp.PostReceive(uint64(f.offered+1), b) != nil {
			return // the QP is in error, which its event says
		}
		f.buffers = append(f.buffers, b)
		f.offered++
	}
}

// done tells whether all work has ended.
func (f *flow) done() bool {
	return f.err != nil || f.completed == len(f.requests) && f.received == len(f.receives)
}

func (f *flow) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// complete checks the completion of a request: they come in order.
func (f *flow) complete(c *roce.Completion) {
	if f.completed >= len(f.requests) {
		f.fault("completion %d of %d requests", c.ID, len(f.requests))
		return
	}
	w := &f.requests[f.completed]
	f.completed++
	switch {
	case c.ID != w.ID || c.Operation != w.Operation:
		f.fault("completion of %v %d, want %v %d", c.Operation, c.ID, w.Operation, w.ID)
	case c.Err != nil:
		if f.err == nil {
			f.err = c.Err
		}
	case w.Operation == roce.OperationRead:
		from := w.RemoteAddress - base
		if !bytes.Equal(w.Data, f.readable[from:from+uint64(len(w.Data))]) {
			f.fault("READ %d has wrong data", w.ID)
		}
	}
}

// receive checks a message that came into a buffer: they come in order.
func (f *flow) receive(c *roce.Completion) {
	if c.Err != nil {
		return // flushed
	}
	if f.received >= len(f.receives) {
		f.fault("message %d of %d", f.received+1, len(f.receives))
		return
	}
	w := &f.receives[f.received]
	switch {
	case c.ID != uint64(f.received+1) || c.Operation != w.Operation || c.Length != len(w.Data):
		f.fault("message %d is %v of %d bytes in buffer %d, want %v of %d", f.received+1, c.Operation, c.Length, c.ID, w.Operation, len(w.Data))
	case c.HasImmediate && c.Immediate != w.Immediate,
		c.Operation == roce.OperationSendInvalidate && c.Invalidated != w.Invalidate:
		f.fault("message %d has another immediate or R_Key", f.received+1)
	case c.Operation <= roce.OperationSendInvalidate && !bytes.Equal(f.buffers[f.received], w.Data):
		f.fault("message %d has wrong data", f.received+1)
	}
	f.received++
}

// check compares memory when all is done.
func (f *flow) check() {
	if f.err != nil {
		return
	}
	if !bytes.Equal(f.written, f.target) {
		f.fault("WRITEs left something else in memory")
	}
	if placed := f.memory.placed[f.key+keyWrite]; placed != len(f.written) {
		f.fault("WRITEs placed %d bytes, want each of %d once", placed, len(f.written))
	}
	for i, want := range f.adds {
		if got := binary.NativeEndian.Uint64(f.counters[8*i:]); got != want {
			f.fault("counter %d is %d, want %d", i, got, want)
		}
	}
}
