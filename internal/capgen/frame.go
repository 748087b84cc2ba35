package capgen

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// packet is one packet that passes the vantage point, before it has bytes.
type packet struct {
	time      int64 // ns since the Unix epoch
	conn      *connection
	side      uint8 // which endpoint sends it
	opcode    infiniband.Opcode
	syndrome  infiniband.Syndrome
	ackReq    bool
	marked    bool // CE
	corrupt   bool
	copy      bool // captured a second time
	ipID      uint16
	psn       uint32
	msn       uint32
	length    uint32 // payload
	dma       uint32 // RETH
	va        uint64
	immediate uint32
}

// endpoint is one side of a connection.
type endpoint struct {
	mac     [6]byte
	ip      [16]byte // IPv4 mapped for IPv4
	qpn     uint32
	udpPort uint16
	ipID    uint16
	psn     uint32 // of the next request
	msn     uint32 // of what the other side asked of this one
}

// builder turns packets into frames. Payloads are windows on one stretch of random bytes.
type builder struct {
	pool    []byte
	frame   []byte
	masked  []byte
	initial uint32 // CRC after the eight bytes of ones
}

const poolSize = 1 << 16

func newBuilder(random *rand.Rand) *builder {
	b := &builder{pool: make([]byte, poolSize+4096), frame: make([]byte, 0, 8192), masked: make([]byte, 0, 256)}
	for i := range b.pool {
		b.pool[i] = byte(random.Uint32())
	}
	b.initial = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	return b
}

const (
	etherIPv4   = 0x0800
	etherIPv6   = 0x86dd
	etherRoCEv1 = 0x8915
	etherVLAN   = 0x8100
	etherQinQ   = 0x88a8

	ipv4Length = 20
	ipv6Length = 40
	udpLength  = 8
	portRoCEv2 = 4791
	portVXLAN  = 4789

	dscpRDMA  = 26 // AF31, a common choice for lossless classes
	dscpCNP   = 48
	ecnECT0   = 2
	ecnCE     = 3
	flowLabel = 0x12345
	vlanID    = 100
	vlanPCP   = 3
	outerVLAN = 200
	vni       = 5001
	spanID    = 7
)

// build returns the frame of p; it is valid until the next call.
func (b *builder) build(p *packet) []byte {
	c := p.conn
	from, to := &c.ends[p.side], &c.ends[1-p.side]
	headers, _ := p.opcode.Headers()
	pad := -p.length & 3
	transport := headers.Length() + int(p.length+pad) + infiniband.ICRCLength

	f := b.frame[:0]
	f = b.outer(f, p, transport)
	f = append(f, to.mac[:]...)
	f = append(f, from.mac[:]...)
	switch c.encapsulation {
	case VLAN:
		f = be16(f, etherVLAN, vlanPCP<<13|vlanID)
	case QinQ:
		f = be16(f, etherQinQ, vlanPCP<<13|outerVLAN, etherVLAN, vlanPCP<<13|vlanID)
	case IPv4, IPv6, RoCEv1, VXLAN, ERSPAN2, ERSPAN3, SRv6, encapsulations:
	}
	network := 0
	switch c.encapsulation {
	case RoCEv1:
		f = be16(f, etherRoCEv1)
		network = len(f)
		f = ipv6Header(f, p, transport, 0x1b)
	case IPv6:
		f = be16(f, etherIPv6)
		network = len(f)
		f = ipv6Header(f, p, udpLength+transport, 17)
		f = udpHeader(f, from.udpPort, portRoCEv2, transport)
	case IPv4, VLAN, QinQ, VXLAN, ERSPAN2, ERSPAN3, SRv6, encapsulations:
		f = be16(f, etherIPv4)
		network = len(f)
		f = ipv4Header(f, p, udpLength+transport)
		f = udpHeader(f, from.udpPort, portRoCEv2, transport)
	}
	bth := len(f)
	f = transportHeaders(f, p, headers, uint8(pad))
	payload := len(f)
	if p.length > 0 {
		at := (p.psn*2654435761 + to.qpn) % poolSize
		f = append(f, b.pool[at:at+p.length]...)
		f = append(f, 0, 0, 0)[:len(f)+int(pad)]
	}
	f = binary.LittleEndian.AppendUint32(f, b.icrc(f, network, bth, payload))
	if p.corrupt {
		f[len(f)-1] ^= 0x5a
	}
	b.frame = f
	return f
}

// icrc is the invariant CRC of the packet whose headers begin at network, bth and payload (IBTA volume 1,
// annexes A16 and A17).
func (b *builder) icrc(f []byte, network, bth, payload int) uint32 {
	b.masked = append(b.masked[:0], f[network:payload]...)
	m := b.masked
	if m[0]>>4 == 4 {
		m[1], m[8], m[10], m[11] = 0xff, 0xff, 0xff, 0xff
	} else {
		m[0] |= 0x0f
		m[1], m[2], m[3], m[7] = 0xff, 0xff, 0xff, 0xff
	}
	at := bth - network
	if at != ipv6Length || m[6] != 0x1b { // all but RoCEv1 have UDP
		m[at-2], m[at-1] = 0xff, 0xff
	}
	m[at+4] = 0xff
	return crc32.Update(crc32.Update(b.initial, crc32.IEEETable, m), crc32.IEEETable, f[payload:])
}

// transportHeaders appends the BTH and the extended headers of the opcode.
func transportHeaders(f []byte, p *packet, headers infiniband.HeaderSet, pad uint8) []byte {
	c := p.conn
	to := &c.ends[1-p.side]
	for _, h := range infiniband.WireOrder {
		if headers&h == 0 {
			continue
		}
		switch h {
		case infiniband.HasBTH:
			f = infiniband.BTH{
				Opcode: p.opcode, PadCount: pad, PartitionKey: infiniband.DefaultPartitionKey,
				BECN: p.opcode.IsCNP(), DestinationQP: to.qpn, AckRequest: p.ackReq, PSN: p.psn,
			}.AppendTo(f)
		case infiniband.HasRDETH:
			f = infiniband.RDETH{EEContext: 0x51}.AppendTo(f)
		case infiniband.HasDETH:
			f = infiniband.DETH{QueueKey: 0x11111111, SourceQP: c.ends[p.side].qpn}.AppendTo(f)
		case infiniband.HasXRCETH:
			f = infiniband.XRCETH{SRQ: 0x71}.AppendTo(f)
		case infiniband.HasRETH:
			f = infiniband.RETH{VirtualAddress: p.va, RemoteKey: c.remoteKey, DMALength: p.dma}.AppendTo(f)
		case infiniband.HasAtomicETH:
			f = infiniband.AtomicETH{VirtualAddress: p.va, RemoteKey: c.remoteKey, SwapOrAdd: 1, Compare: 0}.AppendTo(f)
		case infiniband.HasAETH:
			f = infiniband.AETH{Syndrome: p.syndrome, MSN: p.msn}.AppendTo(f)
		case infiniband.HasAtomicAckETH:
			f = infiniband.AtomicAckETH{OriginalData: uint64(p.psn)}.AppendTo(f)
		case infiniband.HasImmDt:
			f = infiniband.ImmDt{Data: p.immediate}.AppendTo(f)
		case infiniband.HasIETH:
			f = infiniband.IETH{RemoteKey: c.remoteKey}.AppendTo(f)
		case infiniband.HasFETH:
			f = infiniband.FETH{Selectivity: 1, Placement: 2}.AppendTo(f)
		case infiniband.HasCNP:
			f = append(f, make([]byte, infiniband.CNPLength)...)
		}
	}
	return f
}

func be16(f []byte, words ...uint16) []byte {
	for _, w := range words {
		f = binary.BigEndian.AppendUint16(f, w)
	}
	return f
}

func (p *packet) trafficClass() byte {
	switch {
	case p.opcode.IsCNP():
		return dscpCNP << 2
	case p.marked:
		return dscpRDMA<<2 | ecnCE
	}
	return dscpRDMA<<2 | ecnECT0
}

func ipv4Header(f []byte, p *packet, length int) []byte {
	c := p.conn
	return ipv4(f, p.trafficClass(), p.ipID, 17, c.ends[p.side].ip, c.ends[1-p.side].ip, length)
}

// ipv4 appends a header with its checksum for a packet of so many bytes behind it.
func ipv4(f []byte, tos byte, id uint16, protocol byte, from, to [16]byte, length int) []byte {
	at := len(f)
	f = append(f, 0x45, tos)
	f = be16(f, uint16(ipv4Length+length), id, 0x4000)
	f = append(f, 64, protocol, 0, 0)
	f = append(f, from[12:]...)
	f = append(f, to[12:]...)
	sum := uint32(0)
	for i := at; i < at+ipv4Length; i += 2 {
		sum += uint32(f[i])<<8 | uint32(f[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(f[at+10:], ^uint16(sum))
	return f
}

func ipv6Header(f []byte, p *packet, length int, next byte) []byte {
	c := p.conn
	f = binary.BigEndian.AppendUint32(f, 6<<28|uint32(p.trafficClass())<<20|flowLabel)
	f = be16(f, uint16(length))
	f = append(f, next, 64)
	f = append(f, c.ends[p.side].ip[:]...)
	return append(f, c.ends[1-p.side].ip[:]...)
}

func udpHeader(f []byte, from, to uint16, length int) []byte {
	return be16(f, from, to, uint16(udpLength+length), 0)
}

// outer appends what stands around a tunnelled frame whose transport part has the given length.
func (b *builder) outer(f []byte, p *packet, transport int) []byte {
	c := p.conn
	inner := 14 + ipv4Length + udpLength + transport
	var header, protocol int
	switch c.encapsulation {
	case VXLAN:
		header, protocol = udpLength+8, 17
	case ERSPAN2:
		header, protocol = 8+8, 47
	case ERSPAN3:
		header, protocol = 8+12, 47
	case SRv6:
		return b.segments(f, p, ipv4Length+udpLength+transport)
	case IPv4, IPv6, RoCEv1, VLAN, QinQ, encapsulations:
		return f
	}
	f = append(f, c.outerMAC[1][:]...)
	f = append(f, c.outerMAC[0][:]...)
	f = be16(f, etherIPv4)
	f = ipv4(f, 0, p.ipID, byte(protocol), c.outerIP[0], c.outerIP[1], header+inner)
	switch c.encapsulation {
	case VXLAN:
		f = udpHeader(f, 49152|c.ends[p.side].udpPort&0x3fff, portVXLAN, 8+inner)
		f = append(f, 0x08, 0, 0, 0, vni>>16, vni>>8&0xff, vni&0xff, 0)
	case ERSPAN2:
		f = be16(f, 0x1000, 0x88be) // GRE with a sequence number
		f = binary.BigEndian.AppendUint32(f, c.spanSequence(p))
		f = be16(f, 1<<12, spanID, 0, 1)
	case ERSPAN3:
		f = be16(f, 0x1000, 0x22eb)
		f = binary.BigEndian.AppendUint32(f, c.spanSequence(p))
		f = be16(f, 2<<12, spanID)
		f = binary.BigEndian.AppendUint32(f, uint32(p.time/100_000)) // units of 100 µs
		f = be16(f, 0, 0)
	case IPv4, IPv6, RoCEv1, VLAN, QinQ, SRv6, encapsulations:
	}
	return f
}

// segments appends what stands around a frame in SRv6: Ethernet, IPv6 and a routing header with two segments (RFC 8754).
func (b *builder) segments(f []byte, p *packet, packet int) []byte {
	const routing, ethernet, header = 43, 143, 8 + 2*16
	c := p.conn
	from, to := address(IPv6, 0x40, 0, 0), address(IPv6, 0x40, 1, 0)
	f = append(f, c.outerMAC[1][:]...)
	f = append(f, c.outerMAC[0][:]...)
	f = be16(f, etherIPv6)
	f = binary.BigEndian.AppendUint32(f, 6<<28|flowLabel)
	f = be16(f, uint16(header+14+packet))
	f = append(f, routing, 64)
	f = append(append(f, from[:]...), to[:]...)
	f = append(f, ethernet, header/8-1, 4, 0, 1, 0, 0, 0)
	return append(append(f, to[:]...), from[:]...)
}
