package metaroce

import (
	"math"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Operation is what a work request or a message does.
type Operation uint8

// Operations.
const (
	OperationWrite          Operation = iota // put Data at RemoteAddress
	OperationSend                            // put Data into the receive buffer that is next
	OperationRead                            // fill Data from RemoteAddress
	OperationFetchAndAdd                     // add SwapOrAdd to the 8 bytes at RemoteAddress
	OperationCompareAndSwap                  // set them to SwapOrAdd if they are Compare
)

var operationNames = [...]string{"WRITE", "SEND", "READ", "FETCH_AND_ADD", "COMPARE_AND_SWAP"}

// String is the operation's name.
func (o Operation) String() string { return operationNames[o] }

func (o Operation) atomic() mr0.AtomicOperation {
	if o == OperationCompareAndSwap {
		return mr0.AtomicOperationCompareAndSwap
	}
	return mr0.AtomicOperationFetchAndAdd
}

// WorkRequest is what is posted to a stream.
type WorkRequest struct {
	ID            uint64 // handed back in the completion
	Operation     Operation
	Data          []byte // WRITE and SEND: what is sent; READ: what is filled. Not to be touched until completion
	RemoteAddress uint64
	RKey          uint32
	Immediate     uint32 // WRITE and SEND, when HasImmediate
	HasImmediate  bool
	Solicited     bool // the peer should wake up for it
	SwapOrAdd     uint64
	Compare       uint64
}

// Completion tells that a work request, a posted receive buffer or a peer's WRITE with an immediate is done.
type Completion struct {
	Connection   *Connection
	StreamID     uint16
	MSN          uint32
	ID           uint64 // of the work request or receive buffer, 0 of a peer's WRITE
	Operation    Operation
	Received     bool // the peer's message rather than an own one
	Length       uint32
	Immediate    uint32
	HasImmediate bool
	Solicited    bool
	Original     uint64 // what an atomic found
	Err          error  // nil: done
}

// Stream is one end of an ordered stream: completions come in the order of messages, each direction by itself.
type Stream struct {
	connection *Connection
	id         uint16
	err        error // why nothing can be sent any more

	// Sending.
	own       queue[*message] // not completed, in order of msn
	unsent    int             // index in own of the first that is not wholly sent
	nextMSN   uint32
	nextSend  uint32 // receive_index of the next SEND
	scheduled bool   // is in connection.sendable or connection.blocked

	// Receiving.
	expected  uint32 // msn of the oldest message that has not landed
	receives  queue[receive]
	firstRecv uint32 // receive_index of the first of receives
}

// receive is a posted receive buffer.
type receive struct {
	id      uint64
	buffer  []byte
	message *inboundMessage // that it takes
}

// Stream is a stream of an open connection. Posting work needs an id below the peer's stream count, posting receive
// buffers one below the own.
func (c *Connection) Stream(id uint16) (*Stream, error) {
	if c.state != StateOpen {
		return nil, ErrNotOpen
	}
	if id >= max(c.local.StreamCount, c.peer.StreamCount) {
		return nil, ErrNoStream
	}
	return c.stream(id), nil
}

func (c *Connection) stream(id uint16) *Stream {
	s := c.streams[id]
	if s == nil {
		s = &Stream{connection: c, id: id}
		c.streams[id] = s
	}
	return s
}

// ID is the stream's number within its connection.
func (s *Stream) ID() uint16 { return s.id }

// Connection is what the stream belongs to.
func (s *Stream) Connection() *Connection { return s.connection }

// Pending is the number of work requests that are not completed.
func (s *Stream) Pending() int { return s.own.len() }

// Post takes a work request. Call Poll after it. A [Completion] follows each request without an error here.
func (s *Stream) Post(r WorkRequest) error {
	c := s.connection
	switch {
	case c.state != StateOpen:
		return ErrNotOpen
	case s.err != nil:
		return s.err
	case s.id >= c.peer.StreamCount:
		return ErrNoStream
	case uint64(len(r.Data)) > math.MaxUint32:
		return ErrTooLong
	case int(r.Operation) >= len(operationNames):
		return ErrOperation
	}
	m := c.endpoint.newMessage()
	m.stream, m.request, m.msn = s, r, s.nextMSN
	m.length, m.packets = uint32(len(r.Data)), 1
	switch r.Operation {
	case OperationWrite:
		m.kind = mr0.TypeWrite
		m.packets = packetCount(m.length, c.mtu)
	case OperationSend:
		m.kind = mr0.TypeSend
		m.packets = packetCount(m.length, c.mtu)
		m.receive = s.nextSend
		s.nextSend++
	case OperationRead:
		m.kind = mr0.TypeReadReq
	case OperationFetchAndAdd, OperationCompareAndSwap:
		m.kind = mr0.TypeAtomicReq
		m.length = 0
	}
	m.unacked = m.packets
	s.nextMSN++
	s.own.push(m)
	c.schedule(s)
	c.wake()
	return nil
}

// PostReceive adds a buffer for a SEND of the peer. Buffers are taken in the order in which they are posted.
func (s *Stream) PostReceive(id uint64, buffer []byte) error {
	switch {
	case s.connection.state != StateOpen:
		return ErrNotOpen
	case s.id >= s.connection.local.StreamCount:
		return ErrNoStream
	}
	s.receives.push(receive{id: id, buffer: buffer})
	return nil
}

// schedule lets the sender look at the stream.
func (c *Connection) schedule(s *Stream) {
	if !s.scheduled && s.unsent < s.own.len() {
		s.scheduled = true
		c.sendable.push(s)
	}
}

// retire completes own messages as far as they are done in order.
func (s *Stream) retire() {
	c := s.connection
	e := c.endpoint
	for s.own.len() > 0 && (*s.own.at(0)).complete {
		m := s.own.pop()
		s.unsent = max(0, s.unsent-1)
		e.completions.push(Completion{
			Connection: c, StreamID: s.id, MSN: m.msn, ID: m.request.ID, Operation: m.request.Operation,
			Length: m.length, Original: m.original, Err: m.err,
		})
		e.release(m)
	}
	c.schedule(s)
}

// find is the own message with that number, nil when it is completed or was never posted.
func (s *Stream) find(msn uint32) *message {
	if s.own.len() == 0 {
		return nil
	}
	if i := msn - (*s.own.at(0)).msn; i < uint32(s.own.len()) {
		return *s.own.at(int(i))
	}
	return nil
}
