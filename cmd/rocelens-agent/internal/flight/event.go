package flight

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Kind is why something is recorded.
type Kind string

// Kinds of events.
const (
	KindDivergence     Kind = "divergence"
	KindNAKs           Kind = "NAK burst"
	KindRetransmission Kind = "retransmission"
	KindCE             Kind = "CE marks"
	KindThroughput     Kind = "throughput drop"
	KindPathFailure    Kind = "path failure"
	KindSignal         Kind = "signal"
	KindRequest        Kind = "request"
)

// asked tells whether a person wants it, who may want it again.
func (k Kind) asked() bool { return k == KindSignal || k == KindRequest }

// Event is something that is worth a record.
type Event struct {
	ID         uuid.UUID `json:"id"`
	Kind       Kind      `json:"kind"`
	Rule       string    `json:"rule,omitempty"` // of replay
	Interface  string    `json:"interface"`
	Connection uint64    `json:"connection,string,omitempty"` // 0: of none
	Time       time.Time `json:"time"`
	Sentence   string    `json:"sentence"`
	Packets    []uint64  `json:"packets,omitempty"` // that prove it, as the watch counts them
}

// key is the same for all events that are one: of one connection and rule.
func (e *Event) key() string {
	where := strconv.FormatUint(e.Connection, 16)
	if e.Connection == 0 {
		where = e.Interface
	}
	return string(e.Kind) + "/" + e.Rule + "/" + where
}

// claim names the event in comments on packets.
func (e *Event) claim() string {
	if e.Rule != "" {
		return e.Rule
	}
	return string(e.Kind)
}
