package roce

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/mad"
)

// Errors of connecting.
var (
	ErrTimeout  = errors.New("the peer's connection manager did not answer")
	ErrRejected = errors.New("rejected by the peer")
)

// ConnectRequest is what a peer asks for.
type ConnectRequest struct {
	Source netip.Addr
	MAC    [6]byte
	mad.REQ
}

// reasonNoQP rejects a REQ for which there is no QP (IBTA volume 1, section 12.6.7.2).
const reasonNoQP mad.Reason = 1

// Connect opens a queue pair through the connection manager: REQ, REP, RTU (section 12.9). Each side names the PSN with
// which the other is to begin, as adapters do, so number of the peer's QP and SendPSN come with the REP; what config
// says of them does not count. EventConnected or EventRejected says how it went. Until then only receive buffers can be
// posted.
func (e *Endpoint) Connect(now time.Duration, config QPConfig, service mad.ServiceID) (*QP, error) {
	config.RemoteQPN = unknownQPN
	q, err := e.Open(config)
	if err != nil {
		return nil, err
	}
	q.state = StateConnecting
	d := &dialogue{qp: q, phase: phaseRequested, address: config.Remote, mac: config.RemoteMAC, port: config.SourcePort}
	q.dialogue = d
	e.begin(d)
	d.transaction = uint64(d.local)
	request := e.newREQ(d.local, &config, service)
	e.say(d, mad.MessageREQ, request.AppendTo(nil))
	e.await(now, d)
	return q, nil
}

// unknownQPN stands for the peer's number until it is known.
const unknownQPN = 2

func gid(a netip.Addr) mad.GID { return a.As16() }

// mtuCode is the code of a path MTU (section 12.7.22).
func mtuCode(bytes int) mad.MTU {
	code := mad.MTU(1)
	for n, ok := code.Bytes(); ok && n < bytes; n, ok = code.Bytes() {
		code++
	}
	return code
}

// newREQ says what a QP is to be (section 12.6.5).
func (e *Endpoint) newREQ(local uint32, c *QPConfig, service mad.ServiceID) mad.REQ {
	m := mad.REQ{
		LocalID: local, ServiceID: service, LocalQPN: c.QPN, StartingPSN: c.ReceivePSN, PathMTU: mtuCode(c.MTU),
		ResponderResources: uint8(c.MaxDestReadAtomic), InitiatorDepth: uint8(c.MaxReadAtomic),
		RemoteResponseTimeout: 14, LocalResponseTimeout: 14, MaxCMRetries: e.config.CMRetries,
		EndToEndFlowControl: c.Credits, RetryCount: c.RetryCount, RNRRetryCount: c.RNRRetry, PartitionKey: e.config.PartitionKey,
		PrimaryPath: mad.Path{
			LocalLID: 0xffff, RemoteLID: 0xffff, LocalGID: gid(e.config.Address), RemoteGID: gid(c.Remote),
			HopLimit: e.config.TTL, AckTimeout: mad.Timeout(c.Timeout),
		},
	}
	if _, _, ok := service.IPPort(); ok {
		ip := mad.IPCM{IPVersion: 6, SourcePort: c.SourcePort, Source: e.config.Address.As16(), Destination: c.Remote.As16()}
		if c.Remote.Unmap().Is4() {
			ip.IPVersion = 4
			clear(ip.Source[:12])
			clear(ip.Destination[:12])
		}
		m.PrivateData = ip.AppendTo(nil)
	}
	return m
}

// takeREQ answers a request for a connection; one that comes again as it was answered before.
func (e *Endpoint) takeREQ(now time.Duration, p *dissector.Packet, h *mad.Header, body []byte) Verdict {
	r := ConnectRequest{Source: p.Network.Source.Addr(), MAC: p.Ethernet.Source}
	if _, err := r.Decode(body); err != nil {
		return VerdictMalformed
	}
	key := dialogueKey{r.Source, r.LocalID}
	if d := e.manager.requests[key]; d != nil {
		if d.phase == phaseReplied || d.qp == nil {
			e.repeat(d)
		}
		return VerdictDuplicate
	}
	if len(e.manager.dialogues) >= maxDialogues {
		return VerdictIgnored
	}
	d := &dialogue{
		phase: phaseReplied, transaction: h.TransactionID, remote: r.LocalID, address: r.Source, mac: r.MAC, port: p.UDP.SourcePort,
	}
	e.begin(d)
	e.manager.requests[key] = d
	q, reason := e.accept(&r)
	if reason != 0 {
		d.phase = phaseGone
		e.say(d, mad.MessageREJ, mad.REJ{LocalID: d.local, RemoteID: d.remote, Reason: reason}.AppendTo(nil))
		return VerdictRefused
	}
	d.qp, q.dialogue, q.state = q, d, StateReceiving
	c := &q.config
	d.port = c.SourcePort
	e.say(d, mad.MessageREP, mad.REP{
		LocalID: d.local, RemoteID: d.remote, LocalQPN: c.QPN, StartingPSN: c.ReceivePSN,
		ResponderResources: uint8(c.MaxDestReadAtomic), InitiatorDepth: uint8(c.MaxReadAtomic), TargetAckDelay: 4,
		EndToEndFlowControl: c.Credits, RNRRetryCount: c.RNRRetry,
	}.AppendTo(nil))
	e.await(now, d)
	return VerdictAccepted
}

// accept opens the QP for a request, within what it offers and asks for.
func (e *Endpoint) accept(r *ConnectRequest) (*QP, mad.Reason) {
	if e.config.Accept == nil {
		return nil, mad.ReasonInvalidServiceID
	}
	c, reason := e.config.Accept(r)
	if reason != 0 {
		return nil, reason
	}
	mtu, ok := r.PathMTU.Bytes()
	if !ok {
		return nil, reasonNoQP
	}
	c.MTU = mtu
	c.Remote, c.RemoteMAC, c.RemoteQPN, c.SendPSN = r.Source, r.MAC, r.LocalQPN, r.StartingPSN
	c.RetryCount, c.RNRRetry, c.Credits = r.RetryCount, r.RNRRetryCount, c.Credits && r.EndToEndFlowControl
	c.MaxReadAtomic = min(c.MaxReadAtomic, int(r.ResponderResources))
	c.MaxDestReadAtomic = min(c.MaxDestReadAtomic, int(r.InitiatorDepth))
	q, err := e.Open(c)
	if err != nil {
		return nil, reasonNoQP
	}
	return q, 0
}

// takeREP ends the waiting of the active side.
func (e *Endpoint) takeREP(p *dissector.Packet, body []byte) Verdict {
	var m mad.REP
	if _, err := m.Decode(body); err != nil {
		return VerdictMalformed
	}
	d := e.dialogue(p, m.RemoteID)
	switch {
	case d == nil || d.qp == nil:
		return VerdictUnknown
	case d.phase == phaseEstablished && d.message == mad.MessageRTU && d.remote == m.LocalID:
		e.repeat(d) // the RTU was lost
		return VerdictDuplicate
	case d.phase != phaseRequested:
		return VerdictStale
	}
	e.answered(d)
	d.phase, d.remote = phaseEstablished, m.LocalID
	q := d.qp
	c := &q.config
	c.RemoteQPN, c.SendPSN = m.LocalQPN, m.StartingPSN
	c.MaxReadAtomic = min(c.MaxReadAtomic, int(m.ResponderResources))
	c.RNRRetry, c.Credits = m.RNRRetryCount, c.Credits && m.EndToEndFlowControl
	q.requester.init(c)
	q.responder.init(c)
	q.state = StateReady
	e.say(d, mad.MessageRTU, mad.RTU{LocalID: d.local, RemoteID: d.remote}.AppendTo(nil))
	e.events.push(Event{Kind: EventConnected, QP: q})
	return VerdictAccepted
}

// takeRTU lets the passive side send.
func (e *Endpoint) takeRTU(p *dissector.Packet, body []byte) Verdict {
	var m mad.RTU
	if _, err := m.Decode(body); err != nil {
		return VerdictMalformed
	}
	d := e.dialogue(p, m.RemoteID)
	switch {
	case d == nil || d.qp == nil:
		return VerdictUnknown
	case d.phase != phaseReplied:
		return VerdictDuplicate
	}
	d.qp.established()
	return VerdictAccepted
}

// established is RTU, or the first request, which stands for it (section 12.9).
func (q *QP) established() {
	e := q.endpoint
	e.answered(q.dialogue)
	q.dialogue.phase = phaseEstablished
	q.state = StateReady
	e.events.push(Event{Kind: EventAccepted, QP: q})
	q.wake()
}

// takeREJ ends an attempt.
func (e *Endpoint) takeREJ(p *dissector.Packet, body []byte) Verdict {
	var m mad.REJ
	if _, err := m.Decode(body); err != nil {
		return VerdictMalformed
	}
	d := e.dialogue(p, m.RemoteID)
	if d == nil || d.phase > phaseReplied {
		return VerdictUnknown
	}
	e.end(d, EventRejected, fmt.Errorf("%w: %v", ErrRejected, m.Reason))
	return VerdictAccepted
}

// Disconnect ends a connection that the connection manager made: DREQ, DREP (section 12.9). What is not done is
// flushed; EventDisconnected comes when the peer has answered.
func (q *QP) Disconnect(now time.Duration) error {
	d := q.dialogue
	if d == nil || d.phase != phaseEstablished {
		return ErrNotReady
	}
	e := q.endpoint
	q.fail(nil)
	d.phase = phaseLeaving
	e.say(d, mad.MessageDREQ, mad.DREQ{LocalID: d.local, RemoteID: d.remote, RemoteQPN: q.config.RemoteQPN}.AppendTo(nil))
	e.await(now, d)
	return nil
}

// takeDREQ confirms the end of a connection, as often as it is asked to.
func (e *Endpoint) takeDREQ(p *dissector.Packet, body []byte) Verdict {
	var m mad.DREQ
	if _, err := m.Decode(body); err != nil {
		return VerdictMalformed
	}
	d := e.dialogue(p, m.RemoteID)
	if d == nil || d.qp == nil || d.phase == phaseRequested || m.RemoteQPN != d.qp.config.QPN {
		return VerdictUnknown
	}
	again := d.phase == phaseGone
	if !again {
		e.end(d, EventDisconnected, nil)
	}
	e.say(d, mad.MessageDREP, mad.DREP{LocalID: d.local, RemoteID: d.remote}.AppendTo(nil))
	if again {
		return VerdictDuplicate
	}
	return VerdictAccepted
}

// takeDREP is the end.
func (e *Endpoint) takeDREP(p *dissector.Packet, body []byte) Verdict {
	var m mad.DREP
	if _, err := m.Decode(body); err != nil {
		return VerdictMalformed
	}
	d := e.dialogue(p, m.RemoteID)
	if d == nil || d.phase != phaseLeaving {
		return VerdictUnknown
	}
	e.end(d, EventDisconnected, nil)
	return VerdictAccepted
}
