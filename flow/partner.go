package flow

import "github.com/rocelens/rocelens/dissector"

// Partner is the opposite direction of the flow that a packet belongs to, as far as it is known when the packet was
// just observed; 0 when it is not. What is only guessed so far is not told: see [Record] for what is found at the end.
func (t *Tracker) Partner(p *dissector.Packet) (ID, Pairing) {
	if p.Protocol == dissector.ProtocolMetaRoCE {
		if f := t.metaFind(p, &p.MetaRoCE.MR0); f != nil {
			return f.reverseID, f.pairing
		}
		return 0, PairingNone
	}
	f := t.latest
	if f == nil || !f.hasKeyOf(p) {
		var k Key
		keyOf(p, &k)
		if f, _ = t.lookUp(&k); f == nil {
			return 0, PairingNone
		}
	}
	return f.reverseID, f.pairing
}
