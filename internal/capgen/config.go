package capgen

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Encapsulation is what a connection's transport packets travel in.
type Encapsulation uint8

// Encapsulations.
const (
	IPv4    Encapsulation = iota // RoCEv2 over IPv4
	IPv6                         // RoCEv2 over IPv6
	RoCEv1                       // ethertype 0x8915 with a GRH
	VLAN                         // RoCEv2 over IPv4 in 802.1Q
	QinQ                         // RoCEv2 over IPv4 in 802.1ad and 802.1Q
	VXLAN                        // RoCEv2 over IPv4 in VXLAN
	ERSPAN2                      // RoCEv2 over IPv4, mirrored by ERSPAN II
	ERSPAN3                      // RoCEv2 over IPv4, mirrored by ERSPAN III
	SRv6                         // RoCEv2 over IPv4 in a routing header of IPv6
	encapsulations
)

var encapsulationNames = [...]string{"ipv4", "ipv6", "rocev1", "vlan", "qinq", "vxlan", "erspan2", "erspan3", "srv6"}

// String is the name that ParseEncapsulation reads.
func (e Encapsulation) String() string { return encapsulationNames[e] }

// ParseEncapsulation finds an encapsulation by its name.
func ParseEncapsulation(name string) (Encapsulation, error) {
	for i, n := range encapsulationNames {
		if n == name {
			return Encapsulation(i), nil
		}
	}
	return 0, fmt.Errorf("unknown encapsulation %q: one of %v", name, encapsulationNames)
}

// Link is what frames are captured on. They are made as Ethernet frames and then get another header, or a record.
type Link uint8

// Links.
const (
	LinkEthernet Link = iota
	LinkSLL           // Linux cooked capture
	LinkSLL2          // its version 2
	LinkERF           // records of the extensible record format around Ethernet frames
	links
)

var linkNames = [...]string{"ethernet", "sll", "sll2", "erf"}

// String is the name that ParseLink reads.
func (l Link) String() string { return linkNames[l] }

// ParseLink finds a link by its name.
func ParseLink(name string) (Link, error) {
	for i, n := range linkNames {
		if n == name {
			return Link(i), nil
		}
	}
	return 0, fmt.Errorf("unknown link %q: one of %v", name, linkNames)
}

// linkType is the link's number in files.
func (l Link) linkType() uint16 {
	return [links]uint16{
		LinkEthernet: uint16(dissector.LinkTypeEthernet), LinkSLL: uint16(dissector.LinkTypeLinuxSLL),
		LinkSLL2: uint16(dissector.LinkTypeSLL2), LinkERF: uint16(dissector.LinkTypeERF),
	}[l]
}

// Mix says how often each kind of operation begins; the numbers are weights.
type Mix struct {
	Write, Send, Read, Atomic int
}

// Faults says how often something happens to a burst of messages: probabilities, 0 to 1, of which the first
// that hits is taken.
type Faults struct {
	LossBefore  float64 // a packet is lost before the vantage point: NAK, go-back-N
	LossAfter   float64 // a packet is lost behind the vantage point: NAK, go-back-N
	Timeout     float64 // the tail of a burst is lost behind the vantage point: silence, then again
	RNR         float64 // the receiver is not ready for a SEND
	Reorder     float64 // a packet comes late and nobody resends it
	Mark        float64 // packets are marked CE, and a CNP answers
	Corrupt     float64 // a packet's ICRC is wrong: NAK, go-back-N
	ReadLoss    float64 // a READ response is lost behind the vantage point; the rest is asked for again
	CaptureMiss float64 // the capture misses a packet that arrived all the same
}

// Config says what to make. Zero fields take the values that Default has.
type Config struct {
	Seed           uint64
	Packets        int // at least so many are made, and few more
	Connections    int
	Service        infiniband.Service // RC, UC, UD or XRC
	Encapsulations []Encapsulation    // connections take turns
	Link           Link
	Mix            Mix
	MinMessage     int // bytes
	MaxMessage     int
	Burst          int // most messages in flight
	AckEvery       int // messages that one ACK covers
	PathMTU        int // bytes: 256, 512, 1024, 2048 or 4096
	Faults         Faults
	Mirror         bool // every packet is captured twice
	Background     int  // one packet of other protocols for so many of RDMA; 0: none
	Start          time.Time

	Ring             bool   // connection i leads from host i to its neighbour, and from the last to the first
	FaultyConnection int    // the one connection that has the faults, from 1; 0: all
	Interface        string // name of the interface, pcapng only
}

// Default is a modest training job: ring neighbours that write 64 KiB chunks.
func Default() Config {
	return Config{
		Seed: 1, Packets: 10_000, Connections: 16,
		Encapsulations: []Encapsulation{IPv4},
		Mix:            Mix{Write: 1},
		MinMessage:     64 << 10, MaxMessage: 64 << 10,
		Burst: 4, AckEvery: 2, PathMTU: 1024,
		Start: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
	}
}

func (c *Config) complete() error {
	d := Default()
	if c.Packets == 0 {
		c.Packets = d.Packets
	}
	if c.Connections == 0 {
		c.Connections = d.Connections
	}
	if len(c.Encapsulations) == 0 {
		c.Encapsulations = d.Encapsulations
	}
	if c.Mix == (Mix{}) {
		c.Mix = d.Mix
	}
	if c.MaxMessage == 0 {
		c.MinMessage, c.MaxMessage = d.MinMessage, d.MaxMessage
	}
	if c.Burst == 0 {
		c.Burst = d.Burst
	}
	if c.AckEvery == 0 {
		c.AckEvery = d.AckEvery
	}
	if c.PathMTU == 0 {
		c.PathMTU = d.PathMTU
	}
	if c.Start.IsZero() {
		c.Start = d.Start
	}
	switch {
	case c.Packets < 0 || c.Connections < 0 || c.Connections > maxConnections:
		return fmt.Errorf("packets must not be negative, connections lie between 1 and %d", maxConnections)
	case c.MinMessage < 0 || c.MaxMessage < c.MinMessage || c.MaxMessage > maxMessage:
		return fmt.Errorf("message sizes lie between 0 and %d bytes, the smallest first", maxMessage)
	case c.PathMTU < 256 || c.PathMTU > 4096 || c.PathMTU&(c.PathMTU-1) != 0:
		return errors.New("path MTU is one of 256, 512, 1024, 2048, 4096")
	}
	if c.Link >= links {
		return fmt.Errorf("links lie between 0 and %d", links-1)
	}
	switch c.Service {
	case infiniband.ServiceRC, infiniband.ServiceXRC, infiniband.ServiceUC, infiniband.ServiceUD:
	case infiniband.ServiceRD, infiniband.ServiceCNP, infiniband.ServiceVendor, infiniband.ServiceVendor2:
		return fmt.Errorf("connections of service %v cannot be made", c.Service)
	}
	return nil
}

const (
	maxConnections = 1 << 20
	maxMessage     = 64 << 20
)
