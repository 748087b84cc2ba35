package softmetaroce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// digestShare is how much of a READ's data is digested in one round of the loop, messages; the loop has packets to send.
const digestShare = 16

// Server serves transfers to any number of peers.
type Server struct {
	peer     *peer
	sessions map[*metaroce.Connection]*session
	byKey    map[uint32]*session
	random   *rand.Rand
	memory   uint64 // given to sessions, bytes
	report   func(*Report)
	leaving  *leaving      // since the loop was asked to end
	lookedAt time.Duration // for idle connections
}

// session is a transfer that is served.
type session struct {
	connection *metaroce.Connection
	control    *metaroce.Stream
	notes      [2][]byte
	agreed     bool
	transfer   Transfer
	kind       metaroce.Operation
	rkey       uint32
	reserved   uint64 // of the server's memory
	memory     []byte
	heard      uint64        // packets, when it was last looked
	heardAt    time.Duration // when that was another number
	source     *source       // READ
	digest     *digest
	next       uint64 // READ: message that is digested next
	unposted   bool   // SEND: buffers wait for NAKs
	began      time.Duration
	ended      time.Duration
	peerDigest string
	due        bool // the result is to be told
	err        error
}

// NewServer binds the sockets. report is called in the server's loop after each transfer.
func NewServer(config Config, report func(*Report)) (*Server, error) {
	s := &Server{
		sessions: map[*metaroce.Connection]*session{}, byKey: map[uint32]*session{}, report: report,
		random: rand.New(rand.NewPCG(config.Seed, 0x6b65_79)), //nolint:gosec // repeatable by its seed
	}
	var err error
	s.peer, err = open(config, s, s)
	return s, err
}

// Live is how far the transfers are.
func (s *Server) Live() *Live { return &s.peer.live }

// Serve serves until the context ends; connections are ended in order then. It may be called once.
func (s *Server) Serve(ctx context.Context) error {
	return errors.Join(s.peer.run(ctx), s.peer.close())
}

// Slice implements metaroce.Memory: each transfer has a key of its own. What a peer may write it may read back, too, and
// use for atomics.
func (s *Server) Slice(rkey uint32, address uint64, length int, access metaroce.Access) ([]byte, error) {
	x := s.byKey[rkey]
	if x == nil {
		return nil, metaroce.ErrAccess
	}
	memory, granted := x.memory, metaroce.AccessWrite|metaroce.AccessRead|metaroce.AccessAtomic
	if x.kind == metaroce.OperationRead {
		memory, granted = x.source.bytes, metaroce.AccessRead
	}
	if access&^granted != 0 || address > uint64(len(memory)) || uint64(length) > uint64(len(memory))-address {
		return nil, metaroce.ErrAccess
	}
	return memory[address : address+uint64(length)], nil
}

func (s *Server) event(_ time.Duration, e *metaroce.Event) {
	switch e.Kind {
	case metaroce.EventAccepted:
		x := &session{connection: e.Connection}
		s.sessions[e.Connection] = x
		stream, err := e.Connection.Stream(0)
		if err != nil {
			x.err = err
			return
		}
		x.control = stream
		for i := range x.notes {
			x.notes[i] = make([]byte, noteBytes)
			x.err = errors.Join(x.err, stream.PostReceive(uint64(i), x.notes[i]))
		}
	case metaroce.EventDisconnected:
		if x := s.sessions[e.Connection]; x != nil {
			s.end(x, e.Err)
		}
	default:
	}
}

// end reports a session and gives its memory back.
func (s *Server) end(x *session, err error) {
	delete(s.sessions, x.connection)
	if !x.agreed {
		return
	}
	delete(s.byKey, x.rkey)
	s.memory -= x.reserved
	r := s.peer.reportOf(x.connection, &x.transfer, "serve")
	switch err = errors.Join(x.err, err); {
	case err != nil:
		r.Error = err.Error()
	case x.peerDigest == "":
		r.Error = "the peer ended the connection before the transfer was done"
	}
	if x.ended > x.began {
		r.time(x.ended - x.began)
	}
	if x.digest.complete() {
		r.Digest = x.digest.text()
	}
	r.PeerDigest = x.peerDigest
	r.Equal = r.Digest != "" && r.Digest == r.PeerDigest
	if s.report != nil {
		s.report(r)
	}
}

func (s *Server) completed(now time.Duration, c *metaroce.Completion) {
	x := s.sessions[c.Connection]
	if x == nil || !c.Received || c.Err != nil {
		return
	}
	switch {
	case c.StreamID == 0:
		s.note(now, x, x.notes[c.ID][:c.Length])
		if err := x.control.PostReceive(c.ID, x.notes[c.ID]); err != nil {
			x.err = err
		}
	case !x.agreed || x.digest.complete():
	case x.kind == metaroce.OperationWrite && uint64(c.Immediate) < x.transfer.messages():
		s.landed(now, x, uint64(c.Immediate))
	case x.kind == metaroce.OperationSend && int(c.StreamID) <= x.transfer.Streams:
		// Buffers are posted again in the order in which they were taken, so msn tells the message.
		i := uint64(c.StreamID-1) + uint64(c.MSN)*uint64(x.transfer.Streams)
		if i < x.transfer.messages() {
			s.landed(now, x, i)
		}
		stream, err := c.Connection.Stream(c.StreamID)
		if err == nil {
			err = stream.PostReceive(c.ID, x.place(int(c.ID)))
		}
		x.err = errors.Join(x.err, err)
	}
}

// landed digests a message in its place.
func (s *Server) landed(now time.Duration, x *session, i uint64) {
	n := x.transfer.length(i)
	x.digest.add(i, x.place(x.transfer.slot(i))[:n])
	x.ended = now
	s.peer.live.Done.Add(uint64(n))
}

// place is the memory of a slot.
func (x *session) place(slot int) []byte {
	size := int(min(uint64(x.transfer.Message), x.transfer.Size))
	return x.memory[slot*size : (slot+1)*size]
}

// note answers what the peer tells.
func (s *Server) note(now time.Duration, x *session, text []byte) {
	var n note
	if err := json.Unmarshal(text, &n); err != nil {
		s.tell(x, note{Kind: noteReady, Error: "not understood: " + err.Error()})
		return
	}
	switch {
	case n.Kind == noteHello && !x.agreed:
		if err := s.agree(now, x, n.Transfer); err != nil {
			s.tell(x, note{Kind: noteReady, Error: err.Error()})
			return
		}
		s.tell(x, note{Kind: noteReady, RKey: x.rkey})
	case n.Kind == noteEnd && x.agreed:
		x.peerDigest = n.Digest
		x.due = true
	}
}

// agree makes room for a transfer.
func (s *Server) agree(now time.Duration, x *session, t Transfer) error {
	if err := t.validate(); err != nil {
		return err
	}
	if t.Streams >= int(s.peer.config.Streams) {
		return fmt.Errorf("%w: %d streams are more than the %d of this server", ErrTransfer, t.Streams, s.peer.config.Streams-1)
	}
	kind, err := t.kind()
	if err != nil {
		return err
	}
	need := 4 * t.messages() // their sums
	if kind == metaroce.OperationRead {
		need += period + min(uint64(t.Message), t.Size)
	} else {
		need += t.memory()
	}
	if s.memory+need > uint64(s.peer.config.Memory) {
		return fmt.Errorf("%w: it takes %d bytes of memory, more than this server has left; use shorter messages or fewer streams", ErrTransfer, need)
	}
	if kind != metaroce.OperationRead {
		x.memory = make([]byte, t.memory())
	}
	x.reserved = need
	s.memory += need
	x.transfer, x.kind, x.began, x.agreed = t, kind, now, true
	x.digest = newDigest(&x.transfer)
	if kind == metaroce.OperationRead {
		x.source = newSource(&x.transfer)
	}
	for x.rkey == 0 || s.byKey[x.rkey] != nil {
		x.rkey = s.random.Uint32()
	}
	s.byKey[x.rkey] = x
	s.peer.live.Size.Add(t.Size)
	if kind == metaroce.OperationSend {
		x.unposted = true
		return s.post(x)
	}
	return nil
}

// post posts the buffers of a SEND, after the NAKs that the impairment asks for.
func (s *Server) post(x *session) error {
	if x.connection.Statistics().NAKsSent < uint64(s.peer.config.Impairment.Unready) {
		return nil
	}
	x.unposted = false
	for slot := range x.transfer.slots() {
		stream, err := x.connection.Stream(uint16(1 + slot%x.transfer.Streams))
		if err == nil {
			err = stream.PostReceive(uint64(slot), x.place(slot))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) tell(x *session, n note) {
	text, err := json.Marshal(&n)
	if err == nil {
		err = x.control.Post(metaroce.WorkRequest{Operation: metaroce.OperationSend, Data: text})
	}
	x.err = errors.Join(x.err, err)
}

// progress does what takes time bit by bit, and ends when no connection is left to be ended.
func (s *Server) progress(now time.Duration, stopping bool) (pace, error) {
	pace := paceIdle
	for _, x := range s.sessions {
		if x.unposted {
			x.err = errors.Join(x.err, s.post(x))
		}
		if x.agreed && x.kind == metaroce.OperationRead && !x.digest.complete() {
			for range digestShare {
				if x.digest.complete() {
					break
				}
				x.digest.add(x.next, x.source.message(x.next))
				x.next++
			}
			pace = paceBusy
		}
		if x.due && x.digest.complete() {
			x.due = false
			if x.kind == metaroce.OperationRead {
				x.ended = now
				s.peer.live.Done.Add(x.transfer.Size)
			}
			s.tell(x, note{Kind: noteResult, Digest: x.digest.text()})
		} else if x.due && x.kind != metaroce.OperationRead {
			x.due = false
			s.tell(x, note{Kind: noteResult, Error: fmt.Sprintf("%d of %d messages have landed", x.digest.done, len(x.digest.sums))})
		}
	}
	if now-s.lookedAt >= s.peer.config.IdleAfter/4 {
		s.lookedAt = now
		s.endIdle(now)
	}
	if !stopping {
		return pace, nil
	}
	if s.leaving == nil {
		s.leaving = &leaving{since: now}
		for c := range s.sessions {
			s.leaving.connections = append(s.leaving.connections, c)
			c.Disconnect(now)
		}
	}
	if s.leaving.over(now) {
		return paceDone, nil
	}
	return pace, nil
}

// endIdle ends connections by which nothing has arrived for long.
func (s *Server) endIdle(now time.Duration) {
	for c, x := range s.sessions {
		statistics := c.Statistics()
		switch heard := statistics.Received + statistics.ACKs; {
		case heard != x.heard || x.heardAt == 0:
			x.heard, x.heardAt = heard, now
		case now-x.heardAt >= s.peer.config.IdleAfter:
			x.err = errors.Join(x.err, errors.New("nothing was heard of the peer for long"))
			c.Disconnect(now)
		}
	}
}
