package analysis

import "github.com/rocelens/rocelens/dissector"

// Pauses counts what MAC control frames asked for: to stop sending (XOFF), and to go on (XON).
type Pauses struct {
	XOFF       uint64 `json:"xoff"`
	XON        uint64 `json:"xon"`
	Quanta     uint64 `json:"quanta"`     // of all XOFFs, 512 bit times each; a later frame may have cut an earlier pause short
	MaxQuanta  uint16 `json:"max_quanta"` // of one XOFF
	FirstFrame uint64 `json:"first_number"`
	LastFrame  uint64 `json:"last_number"` // packet numbers; 0 when there is none
}

// Any tells whether there was any.
func (p *Pauses) Any() bool { return p.XOFF+p.XON > 0 }

// Pause is all pauses of a capture: those of the whole link (IEEE 802.3 annex 31B), and by priority (annex 31D).
type Pause struct {
	Link       Pauses
	Priorities [8]Pauses
	NoClass    uint64 // priority flow control frames that address no priority
}

const (
	opcodePause = 0x0001
	opcodePFC   = 0x0101
)

func (s *Pause) add(p *dissector.Packet) {
	switch p.Pause.Opcode {
	case opcodePause:
		s.Link.add(p.Pause.Quanta[0], p.Meta.Number)
	case opcodePFC:
		if p.Pause.ClassEnable == 0 {
			s.NoClass++
		}
		for i := range s.Priorities {
			if p.Pause.ClassEnable&(1<<i) != 0 {
				s.Priorities[i].add(p.Pause.Quanta[i], p.Meta.Number)
			}
		}
	}
}

func (p *Pauses) add(quanta uint16, number uint64) {
	if !p.Any() {
		p.FirstFrame = number
	}
	p.LastFrame = number
	if quanta == 0 {
		p.XON++
		return
	}
	p.XOFF++
	p.Quanta += uint64(quanta)
	p.MaxQuanta = max(p.MaxQuanta, quanta)
}
