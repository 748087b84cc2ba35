package flow

import (
	"unsafe"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// flow is one direction of a connection while it is tracked. What the next packet of the sequence touches
// stands first, in three lines of the cache, and one line of the ring.
type flow struct {
	hash       uint64
	key        Key
	reverse    uint32 // the other direction's number plus one, 0: none
	spent      uint16 // of the pairing budget
	service    infiniband.Service
	idUp       uint8 // steps of the IP ID in a row that look like a counter, in unary, saturating
	lastID     uint16
	sourcePort uint16

	stamp       uint64 // the tracker's packet count when it was seen last
	packets     uint64
	bytes       uint64
	payload     uint64
	lastTime    int64
	lastNumber  uint64
	lastRequest int64  // time
	capable     uint64 // ECN-capable packets, marked ones included

	messages    messages
	requestPSNs psnRange
	mtu         uint16              // largest payload of a FIRST or MIDDLE packet
	vantage     uint8               // where the packet that moved the frontier was captured
	idStuck     bool                // different packets had the same IP ID
	hasTime     bool                // lastTime is set
	usual       dissector.ICRCState // of the first packet
	seen        uint8               // packets put into the ring, modulo 256
	requests    sequence
	marked      uint64 // packets marked as having met congestion
	lastAnswer  int64  // time

	ring       [ringSize]sighting
	unusual    [4]uint64 // packets by ICRCState, without those of the usual
	recent     recent
	answers    sequence
	answerPSNs psnRange
	number     uint32 // its own, in the slab

	firstTime   int64
	firstNumber uint64
	read        readRange
	answerOpen  bool // a READ response began and has not ended
	heard       bool // answers to the flow's requests were seen, or would have been
	noTime      bool // a packet had no time stamp

	pairing    Pairing
	votes      uint8
	conflicts  uint8
	portTries  uint8
	guess      uint32 // the flow that this one's answers seem to belong to, plus one
	back       uint32 // the flow whose guess is this one, plus one
	votePSN    uint32
	voteMSN    uint32
	sourceQP   uint32 // plus one, 0 when unknown
	rewritten  uint32 // UDP source port plus one
	cmMTU      uint16 // by the connection manager, or found from the span of a READ
	serviceID  mad.ServiceID
	introduced bool // by the connection manager: serviceID is known
	reverseID  ID
	addresses  [2]uint64 // hash of source and destination, and of the opposite

	operations       Operations
	duplicatePayload uint64
	acks             uint64
	rnrNaks          uint64
	cnps             uint64
	mirrorCopies     uint64
	rnrTimerMax      int64
	gaps             uint32
	missing          uint32
	missingElsewhere uint32 // of missing: acknowledged, so lost to the capture only; holes that are gone
	retransmitted    uint32
	afterNAK         uint32
	afterRNR         uint32
	afterTimeout     uint32
	outOfOrder       uint32
	duplicates       uint32
	truncated        uint32

	link    link
	trouble *trouble // allocated when the first comes
	ports   *portSet // allocated when a second port comes
	told    *told    // allocated by the first cut
}

// A flow fills whole lines of the cache: one more or less of anything shows here.
const _ = -(unsafe.Sizeof(flow{}) % 64)

// psnRange is the PSNs of the first packet and of the packet furthest ahead.
type psnRange struct {
	first, last uint32
	valid       bool
}

func (r *psnRange) extend(psn uint32) {
	if !r.valid {
		r.first, r.valid = psn, true
	}
	r.last = psn
}

// Sides of a flow, the indexes of trouble.late.
const (
	ofRequests = iota
	ofAnswers
)

// link is what the flow's first packet said of the way it came.
type link struct {
	source, destination [6]byte
	vlan                uint16 // VID plus one, 0 when unknown
	dscp                uint8
	tunnel              dissector.LayerType
	outer               [2]dissector.Address
}

// trouble is what only flows need that something went wrong with.
type trouble struct {
	late       [2]lateRun // by side
	unseen     [maxUnseen]unseenAck
	unseenLen  uint8
	onlyResent uint64 // number of the only packet of the repetition going on, while it had not been seen before
	naks       [32]uint64

	malformed     uint32
	damagedCopies uint32 // mirror copies whose ICRC is wrong, as that of the original was not
}

func (f *flow) troubled() *trouble {
	if f.trouble == nil {
		f.trouble = new(trouble)
	}
	return f.trouble
}

// side is the index of a sequence of the flow: ofRequests or ofAnswers.
func (f *flow) side(s *sequence) int {
	if s == &f.answers {
		return ofAnswers
	}
	return ofRequests
}

// portSet is the set of UDP source ports of a flow.
type portSet struct {
	ports [maxPorts]uint16
	count uint8
}

func (s *portSet) add(port uint16) {
	for i := range s.count {
		if s.ports[i] == port {
			return
		}
	}
	if s.count < maxPorts {
		s.ports[s.count] = port
		s.count++
	}
}

// begin fills a zero flow from its first packet.
func (f *flow) begin(number uint32, hash uint64, k *Key, p *dissector.Packet) {
	f.hash, f.number = hash, number
	f.addresses = [2]uint64{
		addressHash(&k.Source, &k.Destination),
		addressHash(&k.Destination, &k.Source),
	}
	f.firstTime, f.firstNumber = p.Meta.Time, p.Meta.Number
	f.requests.watch = watchStart
	f.answers.watch = watchStart
	f.arrive(k, p)
	if k.Service == infiniband.ServiceUD && p.Has&infiniband.HasDETH != 0 {
		f.sourceQP = k.SourceQP + 1
		f.pairing = PairingDatagram
	}
}

// arrive notes what the first packet of the flow's service says of the flow and of its way.
func (f *flow) arrive(k *Key, p *dissector.Packet) {
	f.key, f.service = *k, k.Service
	f.spent = 0
	if !f.reliable() {
		f.spent = pairBudget // nothing answers
	}
	f.vantage = vantageOf(p)
	f.sourcePort = p.UDP.SourcePort
	f.lastID = p.Network.ID
	f.link = linkOf(p)
}

// linkOf is what a packet says of the way it came.
func linkOf(p *dissector.Packet) link {
	l := link{source: p.Ethernet.Source, destination: p.Ethernet.Destination}
	if n := int(p.Ethernet.VLANCount); n > 0 && n <= len(p.Ethernet.VLAN) {
		l.vlan = p.Ethernet.VLAN[n-1]&0xfff + 1
	}
	if p.Protocol == dissector.ProtocolRoCEv2 || p.Protocol == dissector.ProtocolMetaRoCE {
		l.dscp = p.Network.DSCP
	}
	if p.Tunnel.Depth > 0 {
		l.tunnel = p.Tunnel.Type
		l.outer = [2]dissector.Address{p.Tunnel.Outer.Source, p.Tunnel.Outer.Destination}
	}
	return l
}

func known(n uint64) Count { return Count{N: n, Known: true} }

// touch counts what every packet of the flow has.
func (f *flow) touch(p *dissector.Packet, icrc dissector.ICRCState, bytes uint64) {
	f.packets++
	f.bytes += bytes
	f.lastNumber = p.Meta.Number
	if icrc != f.usual {
		f.unusualICRC(icrc)
	}
	if p.Meta.HasTime {
		f.lastTime, f.hasTime = p.Meta.Time, true
	} else {
		f.noTime = true
	}
	if p.UDP.SourcePort != f.sourcePort {
		f.addPort(p.UDP.SourcePort)
	}
}

// unusualICRC counts a verdict that differs from the first one, which needs no count of its own.
func (f *flow) unusualICRC(icrc dissector.ICRCState) {
	if f.packets == 1 {
		f.usual = icrc
		return
	}
	f.unusual[icrc&3]++
}

// verdicts counts the packets with a verdict on their ICRC, without mirror copies of the same.
func (f *flow) verdicts(icrc dissector.ICRCState) uint64 {
	if icrc != f.usual {
		return f.unusual[icrc]
	}
	n := f.packets - f.mirrorCopies
	if f.trouble != nil {
		n += uint64(f.trouble.damagedCopies)
	}
	for _, others := range f.unusual {
		n -= others
	}
	return n
}

func (f *flow) addPort(port uint16) {
	if f.key.Protocol != dissector.ProtocolRoCEv2 {
		return
	}
	if f.ports == nil {
		f.ports = new(portSet)
		f.ports.add(f.sourcePort)
	}
	f.ports.add(port)
}

// mark counts congestion marks, once a packet.
func (f *flow) mark(t *Tracker, p *dissector.Packet) {
	if p.Network.ECN == dissector.ECNNotECT || p.Protocol != dissector.ProtocolRoCEv2 {
		return
	}
	f.capable++
	if isMarked(p) {
		f.marked++
		t.totals.CEMarked++
		f.latest().note(p, sightMarked)
	}
}

func isMarked(p *dissector.Packet) bool {
	return p.Network.ECN == dissector.ECNCE && p.Protocol == dissector.ProtocolRoCEv2
}

// reliable tells whether lost packets of the flow are sent again.
func (f *flow) reliable() bool {
	return f.service == infiniband.ServiceRC || f.service == infiniband.ServiceXRC
}

// ordered tells whether PSNs of the flow's requests follow each other in one sequence.
func (f *flow) ordered() bool { return f.reliable() || f.service == infiniband.ServiceUC }
