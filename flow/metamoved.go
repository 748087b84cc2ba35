package flow

import "github.com/rocelens/rocelens/dissector/metaroce/mr0"

// What looking for the bytes of moved packets may cost: a capture in which every packet claims to be moved must not make
// each of them a search of all paths.
const (
	trailNear  = 32                         // entries behind the last find that are looked at first
	searchRate = 64                         // entries that a packet of the flow allows to be looked at
	searchMost = 4 * metaPaths * metaWindow // of these, put by: four searches of all there can be
)

// trail is where the last moved packet was found: a path that fails sends its bytes elsewhere in the order in which they
// had left, so that the next one most often is right behind.
type trail struct {
	path   uint8
	psn    uint32
	budget uint64 // entries that may be looked at, as of so many packets of the flow
	asOf   uint64
}

// moved finds the bytes of a packet that is sent again on another path than before: only one of the two counts for its
// message, the new one unless the other is acknowledged. It reports whether that one had been captured.
func (f *metaFlow) moved(to *metaPath, as *sent, m *mr0.Packet) bool {
	if m.Has&mr0.HasDH == 0 || m.CH.Type == mr0.TypeProbe {
		return false
	}
	stream, ok := f.byID.find(uint64(m.DH.StreamID))
	if !ok {
		return false
	}
	e := f.search(to, uint16(stream+1), m)
	if e == nil {
		return false
	}
	if e.what&sentAcked != 0 {
		as.what |= sentMoved
		return true
	}
	e.what |= sentMoved
	if e.what&sentOnly != 0 {
		as.what |= sentOnly
		as.first, as.timed = e.first, as.timed && e.timed
	}
	return true
}

// search looks behind the last find, then at all other paths as far as the budget goes.
func (f *metaFlow) search(to *metaPath, stream uint16, m *mr0.Packet) *sent {
	l := &f.trail
	if int(l.path) < len(f.paths) {
		if s := f.paths[l.path]; s != nil && s != to {
			for psn := l.psn + 1; psn != l.psn+1+trailNear; psn++ {
				if e := s.find(psn); e != nil && f.bears(e, stream, m) {
					l.psn = psn
					return e
				}
			}
		}
	}
	l.budget = min(searchMost, l.budget+searchRate*(f.packets-l.asOf))
	l.asOf = f.packets
	for _, s := range f.paths {
		if s == nil || s == to {
			continue
		}
		if l.budget < uint64(len(s.ring)) {
			return nil
		}
		l.budget -= uint64(len(s.ring))
		for i := range s.ring {
			if e := &s.ring[i]; f.bears(e, stream, m) {
				l.path, l.psn = s.id, e.psn
				return e
			}
		}
	}
	return nil
}

// bears tells whether the psn of an entry was seen with the bytes of the packet, and was the last to bear them.
func (f *metaFlow) bears(e *sent, stream uint16, m *mr0.Packet) bool {
	if e.stream != stream || e.what&(sentSeen|sentMoved) != sentSeen {
		return false
	}
	if e.what&sentOnly != 0 {
		return e.offset == m.DH.MSN && alone(m)
	}
	n, ok := f.open.of(e)
	return ok && e.offset == m.DH.MessageOffset && f.open.places[n].kind == kindOf(m.CH.Type) &&
		uint32(f.open.index.links[n].key) == m.DH.MSN
}
