package softmetaroce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// Errors of transfers.
var (
	ErrNoAnswer = errors.New("no answer")
	ErrRefused  = errors.New("refused")
	ErrEnded    = errors.New("connection ended before the transfer was done")
	ErrDiffers  = errors.New("what landed differs from what was sent")
)

// Client is the end that asks for a transfer.
type Client struct {
	peer       *peer
	to         []netip.Addr
	transfer   Transfer
	kind       metaroce.Operation
	connection *metaroce.Connection
	control    *metaroce.Stream
	streams    []*metaroce.Stream
	notes      [2][]byte
	source     *source
	memory     []byte // READ
	rkey       uint32
	digest     *digest
	next       []uint64 // by stream: message that is posted next
	began      time.Duration
	ended      time.Duration
	told       bool // the end was told
	result     *note
	leaving    *leaving
	cancelled  bool
	err        error
}

// NewClient binds the sockets for a transfer to or from the peer, given by its address in each plane.
func NewClient(config Config, transfer Transfer, to ...netip.Addr) (*Client, error) {
	if err := transfer.validate(); err != nil {
		return nil, err
	}
	kind, err := transfer.kind()
	if err != nil {
		return nil, err
	}
	config.Streams = uint16(transfer.Streams + 1)
	c := &Client{to: to, transfer: transfer, kind: kind}
	c.source, c.digest = newSource(&c.transfer), newDigest(&c.transfer)
	c.next = make([]uint64, transfer.Streams)
	for i := range c.next {
		c.next[i] = uint64(i)
	}
	if kind == metaroce.OperationRead {
		if transfer.memory() > uint64(config.Memory) {
			return nil, fmt.Errorf("%w: it takes %d bytes of memory; use shorter messages or fewer streams", ErrTransfer, transfer.memory())
		}
		c.memory = make([]byte, transfer.memory())
	}
	c.peer, err = open(config, nil, c)
	if err != nil {
		return nil, err
	}
	c.peer.live.Size.Store(transfer.Size)
	return c, nil
}

// Live is how far the transfer is.
func (c *Client) Live() *Live { return &c.peer.live }

// Run does the transfer. It may be called once. The report is there whenever a connection was, even beside an error.
func (c *Client) Run(ctx context.Context) (*Report, error) {
	var err error
	c.connection, err = c.peer.endpoint.Connect(c.peer.now(), c.to...)
	if err == nil {
		err = c.peer.run(ctx)
	}
	if err == nil {
		err = c.err
	}
	if err == nil && c.cancelled {
		err = context.Cause(ctx)
	}
	var r *Report
	if c.connection != nil && c.connection.PeerID() != 0 {
		r = c.report(err)
	}
	return r, errors.Join(err, c.peer.close())
}

func (c *Client) report(err error) *Report {
	r := c.peer.reportOf(c.connection, &c.transfer, "send")
	if c.ended > c.began {
		r.time(c.ended - c.began)
	}
	if c.digest.complete() {
		r.Digest = c.digest.text()
	}
	if c.result != nil {
		r.PeerDigest = c.result.Digest
	}
	r.Equal = r.Digest != "" && r.Digest == r.PeerDigest
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (c *Client) event(_ time.Duration, e *metaroce.Event) {
	switch e.Kind {
	case metaroce.EventConnected:
		c.err = c.hello()
	case metaroce.EventRejected:
		c.err = fmt.Errorf("%s has %w the connection: %s", c.to[0], ErrRefused, e.Reject)
	case metaroce.EventTimedOut:
		c.err = fmt.Errorf("%w from %s, port %d: is a peer serving there?", ErrNoAnswer, c.to[0], c.peer.config.Port)
	case metaroce.EventDisconnected:
		switch {
		case c.leaving != nil || c.err != nil:
		case e.Err != nil:
			c.err = fmt.Errorf("%w: %w", ErrEnded, e.Err)
		default:
			c.err = fmt.Errorf("%w: %s", ErrEnded, e.Disconnect)
		}
	default:
	}
}

// hello tells the peer what is to be moved.
func (c *Client) hello() (err error) {
	if c.control, err = c.connection.Stream(0); err != nil {
		return err
	}
	for i := range c.transfer.Streams {
		s, err := c.connection.Stream(uint16(1 + i))
		if err != nil {
			return fmt.Errorf("%w: %d streams and one for control are more than the peer takes", ErrTransfer, c.transfer.Streams)
		}
		c.streams = append(c.streams, s)
	}
	for i := range c.notes {
		c.notes[i] = make([]byte, noteBytes)
		if err := c.control.PostReceive(uint64(i), c.notes[i]); err != nil {
			return err
		}
	}
	return c.tell(note{Kind: noteHello, Transfer: c.transfer})
}

func (c *Client) tell(n note) error {
	text, err := json.Marshal(&n)
	if err != nil {
		return err
	}
	return c.control.Post(metaroce.WorkRequest{Operation: metaroce.OperationSend, Data: text})
}

func (c *Client) completed(now time.Duration, d *metaroce.Completion) {
	switch {
	case c.err != nil || c.leaving != nil:
	case d.Err != nil:
		c.err = fmt.Errorf("%s on stream %d: %w", d.Operation, d.StreamID, d.Err)
	case d.Received && d.StreamID == 0:
		var n note
		if err := json.Unmarshal(c.notes[d.ID][:d.Length], &n); err != nil {
			c.err = fmt.Errorf("%w by the peer: its note is not understood: %w", ErrRefused, err)
			return
		}
		c.err = errors.Join(c.control.PostReceive(d.ID, c.notes[d.ID]), c.note(now, n))
	case !d.Received && d.StreamID > 0:
		i := d.ID
		n := c.transfer.length(i)
		if c.kind == metaroce.OperationRead {
			c.digest.add(i, c.place(i)[:n])
		} else {
			c.digest.add(i, c.source.message(i))
		}
		c.ended = now
		c.peer.live.Done.Add(uint64(n))
		c.err = c.post(int(d.StreamID - 1))
	}
}

func (c *Client) note(now time.Duration, n note) error {
	if n.Error != "" {
		return fmt.Errorf("%w by the peer: %s", ErrRefused, n.Error)
	}
	switch n.Kind {
	case noteReady:
		c.began, c.rkey = now, n.RKey
		for i := range c.streams {
			for range c.transfer.Depth {
				if err := c.post(i); err != nil {
					return err
				}
			}
		}
	case noteResult:
		c.result = &n
		if c.digest.complete() && n.Digest != c.digest.text() {
			return ErrDiffers
		}
	}
	return nil
}

// place is the memory of a READ's message.
func (c *Client) place(i uint64) []byte {
	size := int(min(uint64(c.transfer.Message), c.transfer.Size))
	slot := c.transfer.slot(i)
	return c.memory[slot*size : (slot+1)*size]
}

// post posts the next message of a stream, if there is one.
func (c *Client) post(stream int) error {
	i := c.next[stream]
	if i >= c.transfer.messages() {
		return nil
	}
	c.next[stream] += uint64(c.transfer.Streams)
	r := metaroce.WorkRequest{ID: i, Operation: c.kind, RKey: c.rkey}
	switch c.kind {
	case metaroce.OperationWrite:
		size := min(uint64(c.transfer.Message), c.transfer.Size)
		r.Data, r.RemoteAddress = c.source.message(i), uint64(c.transfer.slot(i))*size
		r.Immediate, r.HasImmediate = uint32(i), true // so that the peer hears of it
	case metaroce.OperationRead:
		r.Data, r.RemoteAddress = c.place(i)[:c.transfer.length(i)], c.source.offset(i)
	default:
		r.Data = c.source.message(i)
	}
	return c.streams[stream].Post(r)
}

// progress ends the connection when the transfer is done, has failed or is called off, and then the loop.
func (c *Client) progress(now time.Duration, stopping bool) (pace, error) {
	if c.digest.complete() && !c.told && c.err == nil {
		c.told = true
		c.err = c.tell(note{Kind: noteEnd, Digest: c.digest.text()})
	}
	if c.leaving == nil && (stopping || c.err != nil || c.result != nil) {
		c.cancelled = c.result == nil && c.err == nil
		c.leaving = &leaving{since: now, connections: []*metaroce.Connection{c.connection}}
		c.connection.Disconnect(now)
	}
	if c.leaving != nil && c.leaving.over(now) {
		return paceDone, nil
	}
	return paceIdle, nil
}
