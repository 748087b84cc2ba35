package softmetaroce

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// Config is what a peer is told. [DefaultConfig] has values for all but Addresses.
type Config struct {
	// Parameters are the profile's.
	mr0.Parameters

	Addresses []netip.Addr // own address in each plane
	Port      uint16       // UDP destination port in both directions
	LinkRate  uint32       // inbound rate that is shared out among senders, Mbit/s; 0: no limit
	Streams   uint16       // streams that a peer may use, the control stream included
	Seed      uint64       // of connection ids, first sequence numbers, source ports and impairments

	Impairment Impairment // of what this peer sends
	Offload    bool       // let the kernel cut and join datagrams, where it can
	Capture    io.Writer  // when set, gets a pcap file of what is sent and received
	Buffer     int        // receive buffer that is asked of the kernel for each address, bytes
	Memory     int        // most bytes of memory that transfers may be given together

	// IdleAfter is when a peer that serves ends a connection by which nothing arrives, so that one that has vanished
	// keeps nothing.
	IdleAfter time.Duration
}

// DefaultConfig is the profile's defaults but for the timers that a process on a shared machine cannot keep, which may
// not run for some milliseconds: rto_min and rto_initial.
func DefaultConfig() Config {
	c := Config{
		Parameters: mr0.DefaultParameters(), Port: mr0.Port, Streams: 257, Seed: 1, Offload: true, Buffer: 32 << 20, Memory: 1 << 30,
		IdleAfter: 30 * time.Second,
	}
	c.RTOMin = 10 * time.Millisecond
	c.RTOInitial = 50 * time.Millisecond
	return c
}

// Errors of configurations.
var (
	ErrAddress     = errors.New("address unusable")
	ErrUnsupported = errors.New("MetaRoCE over sockets needs Linux")
)

func (c *Config) validate() error {
	for i, a := range c.Addresses {
		switch {
		case a.IsUnspecified():
			return fmt.Errorf("%w: %s is no address of a host, and the ICRC of each packet covers its addresses", ErrAddress, a)
		case a.Zone() != "":
			return fmt.Errorf("%w: %s has a zone; give a global or unique local address", ErrAddress, a)
		case a.Is4() != c.Addresses[0].Is4():
			return fmt.Errorf("%w: plane %d is not of the address family of plane 0", ErrAddress, i)
		}
	}
	if c.IdleAfter <= 0 {
		return fmt.Errorf("%w: connections must be let idle for some time", ErrTransfer)
	}
	return c.Impairment.validate()
}

// endpoint is the configuration of the endpoint within.
func (c *Config) endpoint(memory metaroce.Memory, ports metaroce.SourcePorts) metaroce.Config {
	e := metaroce.DefaultConfig()
	e.Parameters = c.Parameters
	e.Port, e.Planes, e.LinkRate, e.StreamCount = c.Port, c.Addresses, c.LinkRate, c.Streams
	e.Memory, e.SourcePorts = memory, ports
	e.Random = rand.NewPCG(c.Seed, 0x6d72_30)
	return e
}
