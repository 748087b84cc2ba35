package replay

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	metarocejudge "github.com/rocelens/rocelens/replay/metaroce/judge"
	rocejudge "github.com/rocelens/rocelens/replay/roce/judge"
)

// newJudge is the judge of a connection's transport.
func newJudge(flow, partner uint64, metaroce bool, out func(*finding.Finding)) judge {
	id := finding.ConnectionID(flow)
	if partner != 0 {
		id = finding.ConnectionID(min(flow, partner))
	}
	if metaroce {
		return metarocejudge.New(id, mr0.DefaultParameters(), out)
	}
	return rocejudge.New(id, out)
}
