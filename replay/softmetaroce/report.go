package softmetaroce

import (
	"sync/atomic"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// Report is what one end tells of a transfer. Packets are counted between endpoint and impairment.
type Report struct {
	Profile   string `json:"profile"` // "mr0", which is this project's own encoding
	Role      string `json:"role"`    // "send" or "serve"
	Operation string `json:"operation"`
	Size      uint64 `json:"size"`    // bytes
	Message   int    `json:"message"` // bytes of a message, the last may be shorter
	Streams   int    `json:"streams"` // that carried data; stream 0 carries what both ends tell each other
	Paths     int    `json:"paths"`

	Nanoseconds int64   `json:"ns"`      // from the first request to the completion of the last
	Goodput     float64 `json:"goodput"` // bits of data a second
	Digest      string  `json:"digest"`  // SHA-256 of the messages' CRC-32Cs, in their order
	PeerDigest  string  `json:"peer_digest"`
	Equal       bool    `json:"equal"` // both ends have the same digest
	Error       string  `json:"error,omitempty"`

	Connection ConnectionReport  `json:"connection"`
	Impairment ImpairmentCounts  `json:"impairment"`
	Sockets    SocketCounts      `json:"sockets"`
	Verdicts   map[string]uint64 `json:"verdicts"` // what the endpoint thought of datagrams, by phrase
}

// ConnectionReport is what one end tells of a connection.
type ConnectionReport struct {
	ID        uint32              `json:"id"`
	PeerID    uint32              `json:"peer_id"`
	MTU       int                 `json:"mtu"` // bytes of payload
	Transport metaroce.Statistics `json:"transport"`
	Sent      Direction           `json:"sent"`
	Received  Direction           `json:"received"`
}

// Live is how far things are, for whoever shows it while they go on.
type Live struct {
	Connections     atomic.Int64
	Done            atomic.Uint64 // bytes that have landed
	Size            atomic.Uint64 // of all, bytes; 0: unknown
	Sent            atomic.Uint64 // packets with a path sequence number
	Received        atomic.Uint64
	Retransmissions atomic.Uint64
	CE              atomic.Uint64 // packets that arrived marked CE
}

// verdicts are those that came up.
func verdicts(e *metaroce.Endpoint) map[string]uint64 {
	m := map[string]uint64{}
	for v := metaroce.VerdictAccepted; v <= metaroce.VerdictNoRoom; v++ {
		if n := e.Count(v); n > 0 {
			m[v.String()] = n
		}
	}
	return m
}
