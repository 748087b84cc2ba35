package service

import (
	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

func onePause(p *analysis.Pauses) api.Pauses {
	return api.Pauses{
		Xoff: int64(p.XOFF), Xon: int64(p.XON), Quanta: int64(p.Quanta), MaxQuanta: int(p.MaxQuanta),
		FirstNumber: int64(p.FirstFrame), LastNumber: int64(p.LastFrame),
	}
}

// foundPause is what an analysis found of pause frames.
func foundPause(p *analysis.Pause) api.Pause {
	out := api.Pause{Priorities: []api.PriorityPauses{}, NoClassFrames: int64(p.NoClass)}
	if p.Link.Any() {
		link := onePause(&p.Link)
		out.Link = &link
	}
	for i := range p.Priorities {
		if p.Priorities[i].Any() {
			out.Priorities = append(out.Priorities, ofPriority(i, onePause(&p.Priorities[i])))
		}
	}
	return out
}

func ofPriority(priority int, p api.Pauses) api.PriorityPauses {
	return api.PriorityPauses{
		Priority: priority, Xoff: p.Xoff, Xon: p.Xon, Quanta: p.Quanta, MaxQuanta: p.MaxQuanta,
		FirstNumber: p.FirstNumber, LastNumber: p.LastNumber,
	}
}

func storedPause(p *api.Pause) *store.Pause {
	if p == nil {
		return nil
	}
	out := &store.Pause{NoClass: uint64(p.NoClassFrames)}
	if l := p.Link; l != nil {
		out.Pauses = append(out.Pauses, store.Pauses{
			XOFF: uint64(l.Xoff), XON: uint64(l.Xon), Quanta: uint64(l.Quanta), MaxQuanta: uint16(l.MaxQuanta),
			FirstNumber: uint64(l.FirstNumber), LastNumber: uint64(l.LastNumber),
		})
	}
	for i := range p.Priorities {
		l := &p.Priorities[i]
		priority := uint8(l.Priority)
		out.Pauses = append(out.Pauses, store.Pauses{
			Priority: &priority, XOFF: uint64(l.Xoff), XON: uint64(l.Xon), Quanta: uint64(l.Quanta), MaxQuanta: uint16(l.MaxQuanta),
			FirstNumber: uint64(l.FirstNumber), LastNumber: uint64(l.LastNumber),
		})
	}
	return out
}

func pauseOf(p *store.Pause) *api.Pause {
	if p == nil {
		return nil
	}
	out := &api.Pause{Priorities: []api.PriorityPauses{}, NoClassFrames: int64(p.NoClass)}
	for i := range p.Pauses {
		one := &p.Pauses[i]
		told := api.Pauses{
			Xoff: int64(one.XOFF), Xon: int64(one.XON), Quanta: int64(one.Quanta), MaxQuanta: int(one.MaxQuanta),
			FirstNumber: int64(one.FirstNumber), LastNumber: int64(one.LastNumber),
		}
		if one.Priority == nil {
			out.Link = &told
		} else {
			out.Priorities = append(out.Priorities, ofPriority(int(*one.Priority), told))
		}
	}
	return out
}
