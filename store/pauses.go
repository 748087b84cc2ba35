package store

// Pause is what the pause frames of a capture asked for.
type Pause struct {
	Pauses  []Pauses // of the link first, then by priority; only those that were addressed
	NoClass uint64   // priority flow control frames that address no priority
}

// Pauses is what was asked of the link or of one of its priorities.
type Pauses struct {
	Priority                *uint8 // nil: of the whole link
	XOFF, XON               uint64
	Quanta                  uint64 // sum, in units of 512 bit times
	MaxQuanta               uint16
	FirstNumber, LastNumber uint64
}

// pauseColumns are in the order of pauseRow. Names with a dot are quoted.
var pauseColumns = []string{
	"`pauses.priority`", "`pauses.xoff`", "`pauses.xon`", "`pauses.quanta`", "`pauses.max_quanta`", "`pauses.first_number`", "`pauses.last_number`",
	"pause_no_class_frames",
}

// pauseRow is the columns about pauses, as arrays of equal length.
type pauseRow struct {
	priority                                []*uint8
	xoff, xon, quanta, firstNumber, lastNum []uint64
	maxQuanta                               []uint16
	noClass                                 *uint64
}

func (r *pauseRow) destinations() []any {
	return []any{&r.priority, &r.xoff, &r.xon, &r.quanta, &r.maxQuanta, &r.firstNumber, &r.lastNum, &r.noClass}
}

func (r *pauseRow) pause() *Pause {
	if r.noClass == nil {
		return nil
	}
	out := &Pause{NoClass: *r.noClass}
	for i := range r.priority {
		out.Pauses = append(out.Pauses, Pauses{
			Priority: r.priority[i], XOFF: r.xoff[i], XON: r.xon[i], Quanta: r.quanta[i], MaxQuanta: r.maxQuanta[i],
			FirstNumber: r.firstNumber[i], LastNumber: r.lastNum[i],
		})
	}
	return out
}

func pauseValues(p *Pause) []any {
	r := pauseRow{priority: []*uint8{}, xoff: []uint64{}, xon: []uint64{}, quanta: []uint64{}, maxQuanta: []uint16{}, firstNumber: []uint64{}, lastNum: []uint64{}}
	if p != nil {
		r.noClass = &p.NoClass
		for i := range p.Pauses {
			one := &p.Pauses[i]
			r.priority = append(r.priority, one.Priority)
			r.xoff, r.xon, r.quanta = append(r.xoff, one.XOFF), append(r.xon, one.XON), append(r.quanta, one.Quanta)
			r.maxQuanta = append(r.maxQuanta, one.MaxQuanta)
			r.firstNumber, r.lastNum = append(r.firstNumber, one.FirstNumber), append(r.lastNum, one.LastNumber)
		}
	}
	return []any{r.priority, r.xoff, r.xon, r.quanta, r.maxQuanta, r.firstNumber, r.lastNum, r.noClass}
}
