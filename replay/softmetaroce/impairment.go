package softmetaroce

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// Impairment is what a bad network would do to the packets that a peer sends. The zero value does nothing. Shares are
// probabilities, 0 to 1, drawn anew for each packet.
type Impairment struct {
	Loss      float64       // of all packets
	Duplicate float64       // sent twice
	Reorder   float64       // held back for Hold, so that later ones overtake them
	Mark      float64       // of sequenced packets, marked CE
	Delay     time.Duration // of every packet
	Spread    time.Duration // more delay of each path than of the one before it
	Hold      time.Duration // 0: 1 ms
	Breaks    []Break
	Unready   int // SENDs that a peer which serves refuses, receiver not ready, before it posts buffers
}

// Break is a way that fails. Packets are counted by path, sequenced ones only, from 1.
type Break struct {
	Path  uint8
	After uint64 // packets that pass before
	Until uint64 // packet of the path that passes again; 0: none
	Route bool   // only the way of the source port that the path has then: with another port the path works
}

// ErrImpairment marks text that describes no impairment.
var ErrImpairment = errors.New("no impairment")

// ParseImpairment reads an impairment as it is written on the command line: parts such as loss=1%, duplicate=0.5%,
// reorder=2%, mark=10%, delay=1ms, spread=100us, hold=2ms, unready=3, blackhole=PATH@N, blackhole=PATH@N-M and
// break=PATH@N, joined by commas. A blackhole swallows all packets of a path behind its Nth, until its Mth; a break
// only those from the source port that the path has then.
func ParseImpairment(text string) (Impairment, error) {
	var m Impairment
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if err := m.set(name, value); err != nil {
			return Impairment{}, err
		}
	}
	return m, m.validate()
}

func (m *Impairment) set(name, value string) (err error) {
	switch name {
	case "loss":
		m.Loss, err = parseShare(value)
	case "duplicate":
		m.Duplicate, err = parseShare(value)
	case "reorder":
		m.Reorder, err = parseShare(value)
	case "mark":
		m.Mark, err = parseShare(value)
	case "delay":
		m.Delay, err = time.ParseDuration(value)
	case "spread":
		m.Spread, err = time.ParseDuration(value)
	case "hold":
		m.Hold, err = time.ParseDuration(value)
	case "unready":
		m.Unready, err = strconv.Atoi(value)
	case "blackhole", "break":
		var b Break
		b, err = parseBreak(value)
		b.Route = name == "break"
		m.Breaks = append(m.Breaks, b)
	default:
		return fmt.Errorf("%w: %q is none of loss, duplicate, reorder, mark, delay, spread, hold, unready, blackhole and break", ErrImpairment, name)
	}
	if err != nil {
		return fmt.Errorf("%w: %s=%s: %w", ErrImpairment, name, value, err)
	}
	return nil
}

func parseShare(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		v /= 100
	}
	return v, err
}

func parseBreak(text string) (b Break, err error) {
	path, span, _ := strings.Cut(text, "@")
	id, err := strconv.ParseUint(path, 10, 7)
	if err != nil {
		return b, err
	}
	b.Path = uint8(id)
	after, until, bounded := strings.Cut(span, "-")
	if after != "" {
		if b.After, err = strconv.ParseUint(after, 10, 63); err != nil {
			return b, err
		}
	}
	if bounded {
		b.Until, err = strconv.ParseUint(until, 10, 63)
	}
	return b, err
}

func (m *Impairment) validate() error {
	for _, share := range []float64{m.Loss, m.Duplicate, m.Reorder, m.Mark} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("%w: a share is 0 to 1, or 0%% to 100%%", ErrImpairment)
		}
	}
	if m.Delay < 0 || m.Spread < 0 || m.Hold < 0 || m.Unready < 0 {
		return fmt.Errorf("%w: times and numbers are not negative", ErrImpairment)
	}
	return nil
}

// active tells whether it does anything to packets.
func (m *Impairment) active() bool {
	return m.Loss > 0 || m.Duplicate > 0 || m.Reorder > 0 || m.Mark > 0 || m.Delay > 0 || m.Spread > 0 || len(m.Breaks) > 0
}

// ImpairmentCounts is what was done to packets that were sent.
type ImpairmentCounts struct {
	Lost       uint64 `json:"lost"`
	Swallowed  uint64 `json:"swallowed"` // by blackholes and breaks
	Duplicated uint64 `json:"duplicated"`
	Delayed    uint64 `json:"delayed"`
	Reordered  uint64 `json:"reordered"`
	Marked     uint64 `json:"marked"`
}

// impairer decides what happens to each packet.
type impairer struct {
	Impairment

	random *rand.Rand
	seen   [128]uint64 // sequenced packets by path
	count  ImpairmentCounts
}

func newImpairer(m Impairment, seed uint64) *impairer {
	if m.Hold == 0 {
		m.Hold = time.Millisecond
	}
	return &impairer{Impairment: m, random: rand.New(rand.NewPCG(seed, 0x6e65_74))} //nolint:gosec // repeatable by its seed
}

// fate is what happens to a packet: how often it is sent, when, and with which mark.
type fate struct {
	copies int
	delay  time.Duration
	ecn    dissector.ECN
}

// decide draws the fate of a packet. broken belongs to its source port, whose way it may break.
func (m *impairer) decide(broken *bool, ch *mr0.CH, ecn dissector.ECN) fate {
	f := fate{copies: 1, delay: m.Delay + time.Duration(ch.PathID)*m.Spread, ecn: ecn}
	if m.swallows(broken, ch) {
		m.count.Swallowed++
		return fate{}
	}
	if m.draw(m.Loss) {
		m.count.Lost++
		return fate{}
	}
	if m.draw(m.Duplicate) {
		m.count.Duplicated++
		f.copies = 2
	}
	if m.draw(m.Reorder) {
		m.count.Reordered++
		f.delay += m.Hold
	}
	if ch.Type.Sequenced() && m.draw(m.Mark) {
		m.count.Marked++
		f.ecn = dissector.ECNCE
	}
	if f.delay > 0 {
		m.count.Delayed++
	}
	return f
}

// swallows tells whether the way that the packet takes is broken.
func (m *impairer) swallows(broken *bool, ch *mr0.CH) bool {
	if ch.Type.Sequenced() && int(ch.PathID) < len(m.seen) {
		m.seen[ch.PathID]++
		n := m.seen[ch.PathID]
		for i := range m.Breaks {
			b := &m.Breaks[i]
			switch {
			case b.Path != ch.PathID || n <= b.After || b.Until > 0 && n >= b.Until:
			case b.Route:
				*broken = true
				m.Breaks = slices.Delete(m.Breaks, i, i+1) // a break happens once
				return true
			default:
				return true
			}
		}
	}
	return *broken
}

func (m *impairer) draw(share float64) bool { return share > 0 && m.random.Float64() < share }
