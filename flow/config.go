package flow

import "time"

// Config bounds what a [Tracker] remembers and tunes what it takes for evidence. Use [DefaultConfig] and
// change what must differ; a zero or negative field means its default.
type Config struct {
	// MaxFlows is how many flows are kept at once, each about 1 KiB, and a third more once records of intervals are
	// cut. When one more appears, the flow that was seen least recently is emitted and forgotten.
	MaxFlows int
	// MaxPaths is how many paths and streams of MetaRoCE connections are kept at once, each of 1 to 11 KiB. When
	// there are more, the connection that was seen least recently is emitted and forgotten.
	MaxPaths int
	// MaxConnections is how many connections learnt from the connection manager are kept to name the flows
	// that follow. The oldest is forgotten first.
	MaxConnections int
	// MirrorWindow is how long after a packet another capture of the same packet may come.
	MirrorWindow time.Duration
	// MirrorTight is the same for packets that nothing distinguishes from a retransmission: no changing IP
	// ID, no different TTL, interface or tunnel. No requester can repeat itself as fast.
	MirrorTight time.Duration
	// Timeout is the silence of a sender after which a repeated PSN is taken for a retransmission by
	// time-out. Networks reorder by less; transports wait for longer.
	Timeout time.Duration
}

// DefaultConfig suits a capture of any size on a machine with a few GiB of memory.
func DefaultConfig() Config {
	return Config{
		MaxFlows:       1 << 20,
		MaxPaths:       1 << 17,
		MaxConnections: 1 << 14,
		MirrorWindow:   time.Millisecond,
		MirrorTight:    2 * time.Microsecond,
		Timeout:        time.Millisecond,
	}
}

// withDefaults replaces what is not set.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	if c.MaxFlows <= 0 {
		c.MaxFlows = d.MaxFlows
	}
	c.MaxFlows = min(c.MaxFlows, maxFlowLimit)
	if c.MaxPaths <= 0 {
		c.MaxPaths = d.MaxPaths
	}
	if c.MaxConnections <= 0 {
		c.MaxConnections = d.MaxConnections
	}
	if c.MirrorWindow <= 0 {
		c.MirrorWindow = d.MirrorWindow
	}
	if c.MirrorTight <= 0 {
		c.MirrorTight = d.MirrorTight
	}
	if c.Timeout <= 0 {
		c.Timeout = d.Timeout
	}
	return c
}

// Limits that are not worth a setting.
const (
	maxFlowLimit  = 1 << 28 // flow numbers fit into 32 bits with room for marks
	maxHoles      = 32      // runs of missing PSNs remembered per PSN space
	maxLate       = 16      // late packets whose verdict may still change by number; a power of two
	maxUnseen     = 4       // acknowledgments that came before what they acknowledge
	ringSize      = 16      // recent packets remembered to recognise their copies; a power of two
	maxPorts      = 64      // distinct UDP source ports counted
	maxJump       = 1 << 18 // a PSN further ahead begins a new life of the QP, not a gap
	maxBack       = 1 << 16 // a PSN further behind, the same
	pairVotes     = 3       // different PSNs that must point to one partner before a flow ends
	pairSlots     = 1 << 14 // recent requests of flows without a partner; a power of two
	pairBudget    = 512     // requests of one flow that are remembered for its pairing
	pairEager     = 32      // of these, the first that are remembered whatever they are; then those that an ACK will name
	maxGroup      = 4096    // flows between two addresses that are compared with each other at the end
	maxRevisions  = 64      // verdicts waiting to be handed out
	idStep        = 256     // IP IDs of one sender that counts grow by at most this from packet to packet
	idTrust       = 3       // two such steps in a row, counted in unary, before IP IDs are evidence
	idReach       = 4096    // IDs further apart than this are not compared
	chunkFlows    = 64      // flows allocated at once
	maxPendingREQ = 4096    // connection requests that wait for their reply
)
