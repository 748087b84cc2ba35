package roce

import (
	"net/netip"
	"slices"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// phase is how far a dialogue of the connection manager has come (IBTA volume 1, section 12.9).
type phase uint8

const (
	phaseRequested   phase = iota // REQ sent
	phaseReplied                  // REP sent
	phaseEstablished              // RTU sent or received, or a request came
	phaseLeaving                  // DREQ sent
	phaseGone                     // over: repeated messages are still answered
)

// dialogue is the connection manager's part of a connection.
type dialogue struct {
	qp            *QP // nil: the REQ was rejected
	phase         phase
	transaction   uint64
	local, remote uint32 // communication IDs
	address       netip.Addr
	mac           [6]byte
	port          uint16
	message       mad.Message // that waits for its answer
	last          []byte      // and its bytes, the whole datagram
	attempts      uint8       // left
	deadline      time.Duration
}

// dialogueKey tells a peer's requests apart.
type dialogueKey struct {
	address netip.Addr
	remote  uint32
}

// manager is the connection manager of an endpoint: general services over QP 1 (section 13.5).
type manager struct {
	dialogues map[uint32]*dialogue // by own communication ID
	requests  map[dialogueKey]*dialogue
	waiting   []*dialogue // for an answer
	outbox    queue[datagram]
	number    uint32 // of the last dialogue
	psn       uint64 // of QP 1
}

// maxDialogues is how many a peer can make an endpoint remember.
const maxDialogues = 65536

// datagram is a management datagram to be sent.
type datagram struct {
	address netip.Addr
	mac     [6]byte
	port    uint16
	payload []byte
}

func (m *manager) init() {
	m.dialogues, m.requests = map[uint32]*dialogue{}, map[dialogueKey]*dialogue{}
}

// begin is a new dialogue. Its communication ID has the last byte of the own address, so that captures of several
// hosts can be read.
func (e *Endpoint) begin(d *dialogue) {
	e.manager.number++
	raw := e.config.Address.As16()
	d.local = uint32(raw[15])<<24 | e.manager.number&psnMask
	d.deadline = Never
	e.manager.dialogues[d.local] = d
}

// say sends a message of a dialogue.
func (e *Endpoint) say(d *dialogue, message mad.Message, body []byte) {
	b := mad.Header{
		BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3,
		TransactionID: d.transaction, AttributeID: uint16(message),
	}.AppendTo(make([]byte, 0, mad.Length))
	b = append(b, body...)
	d.message, d.last = message, b
	e.repeat(d)
}

// repeat sends the last message of a dialogue, again.
func (e *Endpoint) repeat(d *dialogue) {
	e.manager.outbox.push(datagram{d.address, d.mac, d.port, d.last})
}

// await lets a dialogue wait for the answer to what it said.
func (e *Endpoint) await(now time.Duration, d *dialogue) {
	d.attempts = e.config.CMRetries
	d.deadline = now + e.config.ResponseTimeout
	e.manager.waiting = append(e.manager.waiting, d)
}

// answered ends a dialogue's waiting.
func (e *Endpoint) answered(d *dialogue) {
	d.deadline = Never
	w := e.manager.waiting
	for i := range w {
		if w[i] == d {
			w[i] = w[len(w)-1]
			e.manager.waiting = w[:len(w)-1]
			return
		}
	}
}

// expireDialogues says again what was not answered, and gives up what was said often enough (section 12.9).
func (e *Endpoint) expireDialogues(now time.Duration) {
	for _, d := range slices.Backward(e.manager.waiting) { // which may shrink behind the place
		switch {
		case d.deadline > now:
			continue
		case d.attempts > 0:
			d.attempts--
			d.deadline = now + e.config.ResponseTimeout
			e.repeat(d)
			continue
		}
		e.answered(d)
		switch d.phase {
		case phaseRequested:
			e.end(d, EventRejected, ErrTimeout)
		case phaseReplied, phaseLeaving:
			e.end(d, EventDisconnected, ErrTimeout)
		case phaseEstablished, phaseGone:
		}
	}
}

// end closes the QP of a dialogue and says why.
func (e *Endpoint) end(d *dialogue, kind EventKind, err error) {
	e.answered(d)
	d.phase = phaseGone
	if d.qp != nil {
		d.qp.Close()
		e.events.push(Event{Kind: kind, QP: d.qp, Err: err})
	}
}

// managerDeadline is when a dialogue has to be looked at.
func (e *Endpoint) managerDeadline() time.Duration {
	if e.manager.outbox.len() > 0 {
		return 0
	}
	at := Never
	for _, d := range e.manager.waiting {
		at = min(at, d.deadline)
	}
	return at
}

// sayNext fills the frame with the next datagram of QP 1.
func (e *Endpoint) sayNext() bool {
	if e.manager.outbox.len() == 0 {
		return false
	}
	d := e.manager.outbox.pop()
	f := &e.out
	f.Destination, f.DestinationMAC, f.SourcePort = d.address, d.mac, d.port
	f.DSCP, f.ECN, f.Payload = e.config.DSCP, dissector.ECNNotECT, d.payload
	f.BTH = infiniband.BTH{
		Opcode: infiniband.UDSendOnly, MigrationRequest: true, PartitionKey: e.config.PartitionKey,
		DestinationQP: infiniband.GeneralServicesQP, PSN: wire(e.manager.psn),
	}
	f.DETH = infiniband.DETH{QueueKey: infiniband.GSIQueueKey, SourceQP: infiniband.GeneralServicesQP}
	e.manager.psn++
	return true
}

// manage takes a datagram to QP 1.
func (e *Endpoint) manage(now time.Duration, p *dissector.Packet) Verdict {
	if p.BTH.Opcode != infiniband.UDSendOnly || p.DETH.QueueKey != infiniband.GSIQueueKey {
		return VerdictUnknown
	}
	var h mad.Header
	n, err := h.Decode(p.Payload())
	if err != nil {
		return VerdictMalformed
	}
	body := p.Payload()[n:]
	switch h.Message() {
	case mad.MessageREQ:
		return e.takeREQ(now, p, &h, body)
	case mad.MessageREP:
		return e.takeREP(p, body)
	case mad.MessageRTU:
		return e.takeRTU(p, body)
	case mad.MessageREJ:
		return e.takeREJ(p, body)
	case mad.MessageDREQ:
		return e.takeDREQ(p, body)
	case mad.MessageDREP:
		return e.takeDREP(p, body)
	case mad.MessageNone, mad.MessageMRA, mad.MessageSIDRREQ, mad.MessageSIDRREP, mad.MessageLAP, mad.MessageAPR:
	}
	return VerdictUnknown
}

// dialogue is the one that a message belongs to.
func (e *Endpoint) dialogue(p *dissector.Packet, local uint32) *dialogue {
	d := e.manager.dialogues[local]
	if d == nil || d.address.Unmap() != p.Network.Source.Addr() {
		return nil
	}
	return d
}
