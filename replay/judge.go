package replay

import (
	"github.com/rocelens/rocelens/replay/finding"
	rocejudge "github.com/rocelens/rocelens/replay/roce/judge"
)

// newJudge is the judge of a connection's transport.
func newJudge(flow, partner uint64, metaroce bool, out func(*finding.Finding)) judge {
	id := finding.ConnectionID(flow)
	if partner != 0 {
		id = finding.ConnectionID(min(flow, partner))
	}
	if metaroce {
		return unjudged{}
	}
	return rocejudge.New(id, out)
}

// unjudged stands where there is no judge.
type unjudged struct{}

func (unjudged) Observe(int, *finding.Sighting)   {}
func (unjudged) Join()                            {}
func (unjudged) Close(report *finding.Connection) { *report = finding.Connection{MetaRoCE: true} }
