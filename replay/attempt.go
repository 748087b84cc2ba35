package replay

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/replay/finding"
)

// attempt is a REQ and what became of it.
type attempt struct {
	tries       uint32
	first, last uint64
	service     mad.ServiceID
	accepted    bool
	rejected    bool
	reason      mad.Reason
}

// tried notes a REQ. One that comes again is the same attempt: its sender got no answer in time.
func (a *agreements) tried(key end, p *dissector.Packet, m *mad.REQ) {
	if len(a.attempts) >= maxAgreements {
		a.forget()
	}
	t := a.attempts[key]
	if t == nil || t.accepted || t.rejected {
		t = &attempt{first: p.Meta.Number, service: m.ServiceID}
		a.attempts[key] = t
	}
	t.tries++
	t.last = p.Meta.Number
}

// refuse takes a REJ that answers a REQ. One that gives up a connection, or an attempt of its sender's own, names no
// REQ that waits for this answer.
func (a *agreements) refuse(p *dissector.Packet, m *mad.REJ) {
	source, destination := p.Ends()
	if t := a.attempts[end{destination, source, m.RemoteID}]; t != nil && !t.accepted && !t.rejected {
		t.rejected, t.reason, t.last = true, m.Reason, p.Meta.Number
	}
}

// forget drops attempts that were accepted, and all if that does not suffice.
func (a *agreements) forget() {
	for key, t := range a.attempts {
		if t.accepted {
			delete(a.attempts, key)
		}
	}
	if len(a.attempts) >= maxAgreements {
		clear(a.attempts)
	}
}

// failed are the attempts that came to nothing, in the order of the capture.
func (a *agreements) failed() []finding.Attempt {
	var out []finding.Attempt
	for key, t := range a.attempts {
		if t.accepted {
			continue
		}
		f := finding.Attempt{
			From: key.source, To: key.destination, CommunicationID: key.qp, Service: t.service.String(),
			Tries: t.tries, First: t.first, Last: t.last, Rejected: t.rejected,
		}
		if t.rejected {
			f.Reason = t.reason.String()
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(x, y finding.Attempt) int { return cmp.Compare(x.First, y.First) })
	return out
}
