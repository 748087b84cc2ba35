package capgen

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// connection is a pair of queue pairs and the packets of its latest burst that have not been written yet.
type connection struct {
	ends          [2]endpoint
	encapsulation Encapsulation
	service       infiniband.Service
	remoteKey     uint32
	outerMAC      [2][6]byte
	outerIP       [2][16]byte
	span          uint32
	now           int64 // ns, no packet of the next burst is earlier
	toResponder   int64 // from the vantage point to the responder and back, ns
	toRequester   int64
	faulty        bool
	queue         []packet
	head          int
}

// newConnection places both ends of connection i.
func newConnection(i int, cfg *Config, random *rand.Rand) *connection {
	c := &connection{
		encapsulation: cfg.Encapsulations[i%len(cfg.Encapsulations)],
		service:       cfg.Service,
		faulty:        cfg.FaultyConnection == 0 || cfg.FaultyConnection == i+1,
		remoteKey:     random.Uint32(),
		now:           cfg.Start.UnixNano() + random.Int64N(20_000),
		toResponder:   2_000 + random.Int64N(3_000),
		toRequester:   2_000 + random.Int64N(3_000),
	}
	for side := range c.ends {
		e := &c.ends[side]
		host, group := uint16(2*i+side)%hosts, byte(side)
		if cfg.Ring {
			host, group = uint16((i+side)%cfg.Connections), 0
		}
		e.mac = [6]byte{0x02, 0x00, 0x5e, group, byte(host >> 8), byte(host)}
		e.ip = address(c.encapsulation, 10, 16+group, host)
		e.qpn = uint32(0x100+2*i+side) & 0xffffff
		e.udpPort = uint16(0xc000 | random.Uint32()&0x3fff)
		e.ipID = uint16(random.Uint32())
		e.psn = random.Uint32() & 0xffffff
	}
	for side := range c.outerIP {
		c.outerMAC[side] = [6]byte{0x02, 0x00, 0x5e, 0x40, 0, byte(side)}
		c.outerIP[side] = address(IPv4, 192, 168, uint16(1+side))
	}
	return c
}

// hosts is how many hosts there are on each side; connections beyond share them.
const hosts = 1 << 12

func address(e Encapsulation, a, b byte, host uint16) (ip [16]byte) {
	if e == IPv6 {
		ip = [16]byte{0xfd, 0x00, 0, a, 0, b}
		binary.BigEndian.PutUint16(ip[14:], host+1)
		return ip
	}
	ip[10], ip[11], ip[12], ip[13] = 0xff, 0xff, a, b
	binary.BigEndian.PutUint16(ip[14:], host+1)
	return ip
}

// spanSequence numbers the mirrored packets.
func (c *connection) spanSequence(p *packet) uint32 {
	if !p.copy {
		c.span++
	}
	return c.span
}

// opcode is an operation of the connection's service.
func (c *connection) opcode(o infiniband.Operation) infiniband.Opcode {
	return infiniband.Opcode(uint8(c.service)<<5 | uint8(o))
}

// gap is the time that a packet of so many payload bytes takes on a link of 100 Gbit/s.
func gap(payload uint32) int64 { return int64(payload+90) * 8 / 100 }
