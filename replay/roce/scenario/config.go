package scenario

import (
	"errors"
	"time"

	"github.com/rocelens/rocelens/replay/roce"
)

// Vantage is where the tap sits.
type Vantage uint8

// Vantages.
const (
	NearRequester Vantage = iota // the interfaces of the clients
	Middle                       // the clients' switch: behind their links, before the route
	NearResponder                // the interfaces of the servers
)

var vantageNames = [...]string{"near requester", "middle", "near responder"}

// String is a phrase for people.
func (v Vantage) String() string { return vantageNames[v] }

// Mix has the weights with which operations are drawn, by [roce.Operation].
type Mix [8]int

// Weights of usual mixes.
var (
	AllOperations = Mix{3, 1, 1, 4, 1, 4, 1, 1}
	Writes        = Mix{roce.OperationWrite: 1}
	Sends         = Mix{roce.OperationSend: 1}
	Reads         = Mix{roce.OperationRead: 1}
)

// Config of a run. [DefaultConfig] has values for all but hooks.
type Config struct {
	Seed             uint64
	Clients, Servers int // hosts, 1 to 250 each
	Connections      int // between client i mod Clients and server i mod Servers
	BothWays         bool
	IPv6             bool
	Start            time.Duration // of the first frame, since the epoch of the tap's times

	// Work of a connection, each way when BothWays.
	Messages   int
	MaxMessage int // bytes
	Mix        Mix
	QueueDepth int           // work requests under way at a time
	Think      time.Duration // mean pause before a work request, 0: none
	// Receive buffers are posted ReceiveAhead at a time; with probability Unready one comes UnreadyFor late.
	ReceiveAhead int
	Unready      float64
	UnreadyFor   time.Duration

	// The network. Queues and marks are those of the links from switches to hosts.
	Rate        float64       // of the hosts' links, bit/s
	EdgeDelay   time.Duration // of a host's link
	RouteDelay  time.Duration
	Queue, Mark int     // bytes, see simulation.Link
	MarkChance  float64 // probability of a mark on the route, beside the queue's
	Loss        float64 // on the route, each way
	LossForward float64 // on the way from the servers' switch to servers
	LossBack    float64 // on the way from servers to their switch
	Duplicate   float64 // on the route
	Late        float64 // on the route: reordering
	Jitter      time.Duration
	// The route passes nothing from OutageAt, since Start, for OutageFor.
	OutageAt, OutageFor time.Duration
	// DetourDelay, when not 0, takes RouteDelay's place after the outage: frames take another path then.
	DetourDelay time.Duration

	Endpoint roce.Config   // of all hosts; Address, MAC and Memory are set
	QP       roce.QPConfig // of all QPs; numbers, addresses, source ports and initial PSNs are set
	// Client and Server, when set, change the configuration of the QPs of one side; connections are counted from 0.
	Client, Server func(connection int, qp *roce.QPConfig)
	NearWrap       bool // initial PSNs just below 2^24
	Handshake      bool // connections are set up and ended by the connection manager

	Vantage Vantage
	// Tap, when set, gets every frame that passes the vantage, in order. The bytes are only valid during the call.
	Tap func(Frame)
	// Egress and Ingress, when set, stand between endpoint and interface of each host: what they return, each after
	// its delay, takes the place of the frame. They own the frame that they are given. nil drops it.
	Egress, Ingress func(now time.Duration, h *Host, frame []byte) []Delayed
	// Limit ends a run that does not come to an end, in simulated time.
	Limit time.Duration
}

// Frame is what the tap saw.
type Frame struct {
	Time time.Duration // since the epoch of Config.Start
	Data []byte        // Ethernet header to ICRC, without FCS
}

// Delayed is a frame that is passed on after some time.
type Delayed struct {
	After time.Duration
	Data  []byte
}

// Pass hands a frame on unchanged: what a hook returns that leaves it alone.
func Pass(frame []byte) []Delayed { return []Delayed{{Data: frame}} }

// DefaultConfig is one connection of mixed operations over a network without faults.
func DefaultConfig() Config {
	endpoint := roce.DefaultConfig()
	endpoint.LineRate = 25e9
	return Config{
		Seed: 1, Clients: 1, Servers: 1, Connections: 1, Messages: 50, MaxMessage: 16 << 10, Mix: AllOperations,
		QueueDepth: 8, ReceiveAhead: 64, UnreadyFor: 200 * time.Microsecond,
		Rate: 25e9, EdgeDelay: time.Microsecond, RouteDelay: 3 * time.Microsecond, Queue: 4 << 20, Jitter: 20 * time.Microsecond,
		Endpoint: endpoint, QP: roce.DefaultQPConfig(), Limit: 300 * time.Second,
	}
}

func (c *Config) validate() error {
	switch {
	case c.Clients < 1 || c.Clients > 250 || c.Servers < 1 || c.Servers > 250:
		return errors.New("scenario: want 1 to 250 clients and servers")
	case c.Connections < 1 || c.Messages < 0 || c.MaxMessage < 0 || c.QueueDepth < 1 || c.ReceiveAhead < 1:
		return errors.New("scenario: connections, queue depth and receive buffers must be positive, messages not negative")
	case c.Mix == Mix{}:
		return errors.New("scenario: the mix has no operation")
	case c.Limit <= 0 || c.Rate <= 0 || c.Jitter <= 0:
		return errors.New("scenario: limit, rate and jitter must be positive")
	}
	return nil
}
