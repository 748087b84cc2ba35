package metaroce

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Config is what an endpoint is told. [DefaultConfig] has the profile's defaults; Planes, Memory and Random have none.
type Config struct {
	// Parameters are the profile's. MaxWindow is at most 256 packets, Paths at most 128.
	mr0.Parameters

	Port         uint16       // UDP destination port in both directions
	Planes       []netip.Addr // own address in each network plane, 1 to 255; planes may share one
	LinkRate     uint32       // inbound rate, all planes together, Mbit/s; 0: unknown, and peers get no limit
	StreamCount  uint16       // streams that a peer may use
	PartitionKey uint16       // as InfiniBand's P_Key
	Memory       Memory       // what peers may reach; nil: nothing
	Random       rand.Source  // connection ids, nonces, first sequence numbers and, unless SourcePorts is set, ports
	SourcePorts  SourcePorts  // nil: drawn from Random out of 49152..65535

	// Accept decides about a peer's request: 0 takes it, another value is the reason to reject it. nil takes all.
	Accept func(ConnectionRequest) mr0.RejectReason

	// The profile leaves the following open.

	MinMTU             int           // a request for less is rejected, bytes
	MaxConnections     int           // more are rejected
	ConnectionTimeout  time.Duration // a connection all of whose paths were failed for this long ends
	MessageWindow      int           // messages that a stream sends ahead of the oldest that is not complete
	MaxInboundMessages int           // messages of a connection that may be under way inwards beyond the oldest of each stream
	MaxReads           int           // READs and atomics of a connection that may be unanswered
	RetryAfter         time.Duration // told to a peer whose SEND finds no buffer

	// TailProbe sends a PROBE on a path on which nothing followed for two round trips, so that a lost last packet
	// shows as a gap long before the retransmission timer runs out (as RFC 8985, section 7, does for TCP). The profile
	// does not ask for it; it is off unless set.
	TailProbe bool
}

// DefaultConfig is the profile's defaults and, where it has none, this package's.
func DefaultConfig() Config {
	return Config{
		Parameters:         mr0.DefaultParameters(),
		Port:               mr0.Port,
		StreamCount:        64,
		PartitionKey:       0xffff,
		MinMTU:             256,
		MaxConnections:     65536,
		ConnectionTimeout:  5 * time.Second,
		MessageWindow:      1024,
		MaxInboundMessages: 16384,
		MaxReads:           64,
		RetryAfter:         100 * time.Microsecond,
	}
}

// ConnectionRequest is what a peer asks for.
type ConnectionRequest struct {
	Source       netip.AddrPort
	PartitionKey uint16
	mr0.CONN
}

// SourcePorts hands out UDP source ports, the entropy that ECMP hashes. A live peer binds a socket to each.
type SourcePorts interface {
	// Acquire is a port for a path that leaves from the address, not one that the path had just before.
	Acquire(local netip.Addr, previous uint16) uint16
	// Release takes back a port.
	Release(local netip.Addr, port uint16)
}

// randomPorts draws from the dynamic range.
type randomPorts struct{ random rand.Source }

func (r randomPorts) Acquire(_ netip.Addr, previous uint16) uint16 {
	const first, count = 49152, 65536 - 49152
	for {
		if port := uint16(first + r.random.Uint64()%count); port != previous {
			return port
		}
	}
}

func (randomPorts) Release(netip.Addr, uint16) {}

// Limits of what peers can make an endpoint keep.
const (
	maxResponses   = 4096  // answers to READs and atomics of a connection that are not acknowledged
	maxNAKs        = 64    // refusals of a connection that wait to be sent
	maxReplies     = 256   // rejections that wait to be sent
	maxEvents      = 65536 // events that were not taken; further connections are refused
	maxCompletions = 65536 // completions that were not taken; further immediates wait
)

// connectAttempts is how often a CONN_REQ or DISCONNECT is sent again.
const connectAttempts = 5

func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(len(c.Planes) >= mr0.CONNPlaneCountMin && len(c.Planes) <= 255, "%d planes, want 1 to 255", len(c.Planes))
	for i, a := range c.Planes {
		check(a.IsValid(), "plane %d has no address", i)
	}
	check(c.Random != nil, "no source of randomness")
	check(c.Port != 0, "no UDP port")
	check(c.Paths >= mr0.CONNPathCountMin && c.Paths <= mr0.CONNPathCountMax, "%d paths, want 1 to 128", c.Paths)
	check(validMTU(c.MTU), "MTU %d is not 256, 512, 1024, 2048, 4096 or 8192", c.MTU)
	check(c.MinMTU <= c.MTU, "least MTU %d is more than the own MTU %d", c.MinMTU, c.MTU)
	check(c.MaxWindow >= 1 && c.MaxWindow <= mr0.CONNMaxWindowMax, "max_window %d, want 1 to 256", c.MaxWindow)
	check(c.MinWindow >= 1 && c.MinWindow <= c.MaxWindow, "min_window %d, want 1 to max_window", c.MinWindow)
	check(c.InitialWindow >= c.MinWindow, "initial_window %d is less than min_window", c.InitialWindow)
	check(c.MultiplicativeDecrease > 0 && c.MultiplicativeDecrease < 1, "multiplicative_decrease %v, want more than 0 and less than 1", c.MultiplicativeDecrease)
	check(c.AdditiveIncrease >= 0, "additive_increase %d is negative", c.AdditiveIncrease)
	check(c.ACKEvery >= 1, "ack_every %d, want at least 1", c.ACKEvery)
	check(c.ACKTimer > 0 && c.RTOMin > 0 && c.RTOMax >= c.RTOMin && c.RTOInitial > 0, "timers must be positive, and rto_max at least rto_min")
	check(c.PathFailedAfter >= 1, "path_failed_after %d, want at least 1", c.PathFailedAfter)
	check(c.HintTarget > 0 && c.HintTarget <= 1, "hint_target %v, want more than 0 and at most 1", c.HintTarget)
	check(c.HintActiveWindow > 0, "hint_active_window must be positive")
	check(c.HintTolerance >= 0, "hint_tolerance %v is negative", c.HintTolerance)
	check(c.StreamCount >= 1, "no streams")
	check(c.MaxConnections >= 1 && c.MessageWindow >= 1 && c.MaxInboundMessages >= 1 && c.MaxReads >= 1, "limits must be at least 1")
	check(c.ConnectionTimeout > 0 && c.RetryAfter > 0, "connection timeout and retry_after must be positive")
	return errors.Join(errs...)
}

func validMTU(mtu int) bool { return mtu >= 256 && mtu <= 8192 && mtu&(mtu-1) == 0 }
