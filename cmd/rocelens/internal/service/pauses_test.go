package service_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
)

func TestPausesAreToldByPriority(t *testing.T) {
	s := web(t)
	c, _ := s.upload(t, "pfc.pcap", fixture(t, "pfc.pcap"))
	c = s.analysed(t, c.Id)
	require.Equal(t, &api.Pause{
		Link: &api.Pauses{Xoff: 1, Xon: 1, Quanta: 65535, MaxQuanta: 65535, FirstNumber: 6, LastNumber: 7},
		Priorities: []api.PriorityPauses{
			{Priority: 3, Xoff: 3, Xon: 1, Quanta: 131170, MaxQuanta: 65535, FirstNumber: 1, LastNumber: 4},
			{Priority: 4, Xoff: 1, Quanta: 200, MaxQuanta: 200, FirstNumber: 4, LastNumber: 4},
		},
		NoClassFrames: 1,
	}, c.Pause)
	require.Equal(t, [][]any{{nil, 1.}}, s.sql(t, "SELECT priority, xoff FROM captures ARRAY JOIN pauses.priority AS priority, pauses.xoff AS xoff WHERE id = '"+c.Id.String()+"' AND priority IS NULL"))

	calm, _ := s.metaRoCE(t, "metaroce-spray.pcap")
	calm = s.analysed(t, calm.Id) // as uploaded it was analysed only if another test had it before
	require.Equal(t, &api.Pause{Priorities: []api.PriorityPauses{}}, calm.Pause)
}
