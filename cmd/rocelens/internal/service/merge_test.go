package service_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
)

// mergeEnded waits until a merge is done or has failed.
func (r *running) mergeEnded(t *testing.T, path string) api.Merge {
	t.Helper()
	var m api.Merge
	require.Eventually(t, func() bool {
		m = api.Merge{}
		r.get(t, path).into(t, &m)
		return m.Status == api.MergeStatusDone || m.Status == api.MergeStatusFailed
	}, time.Minute, 20*time.Millisecond)
	return m
}

// TestMergeByAPI: two captures of the worked example tell by API what docs/replay.md shows.
func TestMergeByAPI(t *testing.T) {
	s := web(t)
	var ids []string
	for _, name := range []string{"merge-requester.pcap", "merge-responder.pcap", "allreduce-loss.pcapng"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", name))
		require.NoError(t, err)
		c, _ := s.upload(t, name, data)
		require.Equal(t, api.CaptureStatusDone, s.analysed(t, c.Id).Status)
		ids = append(ids, c.Id.String())
	}
	path := "/captures/" + ids[0] + "/merges/" + ids[1]
	s.get(t, path).problem(t, http.StatusNotFound)
	require.Equal(t, http.StatusAccepted, s.do(t, http.MethodPost, "/api/v1"+path, http.NoBody).status)
	m := s.mergeEnded(t, path)
	require.Equal(t, api.MergeStatusDone, m.Status, "%v", m.Message)
	require.NotNil(t, m.Result)
	require.Equal(t, []int64{449, 442}, m.Result.Packets)
	require.EqualValues(t, 441, m.Result.PacketsAtBoth)
	require.Equal(t, []int64{0, 7}, m.Result.MissedBy)
	require.Len(t, m.Result.Clock, 1)
	require.Equal(t, http.StatusOK, s.do(t, http.MethodPost, "/api/v1"+path, http.NoBody).status, "it is kept")

	var directions api.MergeDirectionList
	s.get(t, path+"/directions?seen=both").into(t, &directions)
	require.EqualValues(t, 3, directions.Total)
	var both int64
	for i := range directions.Directions {
		both += directions.Directions[i].PacketsAtBoth
	}
	require.EqualValues(t, 441, both)
	var packets api.MergePacketList
	s.get(t, path+"/packets?fate=lost&capture=0&limit=5").into(t, &packets)
	require.EqualValues(t, 1, packets.Total)
	require.EqualValues(t, 201, packets.Packets[0].Packet)
	require.EqualValues(t, 2773797, packets.Packets[0].Psn)
	var rules api.MergeRuleList
	s.get(t, path+"/rules").into(t, &rules)
	require.Greater(t, len(rules.Rules), 10)
	require.NotNil(t, rules.Rules[0].First)
	require.NotNil(t, rules.Rules[0].Second)
	require.False(t, m.Result.Together.Judged)
	for i := range rules.Rules {
		for _, tally := range []*api.MergeTally{rules.Rules[i].First, rules.Rules[i].Second, rules.Rules[i].Together} {
			if tally != nil {
				require.Zero(t, tally.Diverges, "%s accuses endpoints that kept the rules", rules.Rules[i].Rule)
			}
		}
	}
	var findings api.MergeFindingList
	s.get(t, path+"/findings?verdict=diverges").into(t, &findings)
	require.Zero(t, findings.Total)
	var all api.MergeList
	s.get(t, "/captures/"+ids[1]+"/merges").into(t, &all)
	require.Len(t, all.Merges, 1)

	strangers := "/captures/" + ids[0] + "/merges/" + ids[2]
	require.Equal(t, http.StatusAccepted, s.do(t, http.MethodPost, "/api/v1"+strangers, http.NoBody).status)
	m = s.mergeEnded(t, strangers)
	require.Equal(t, api.MergeStatusFailed, m.Status)
	require.NotNil(t, m.Message)
	require.Contains(t, *m.Message, "no packet in common")
	s.do(t, http.MethodPost, "/api/v1/captures/"+ids[0]+"/merges/"+ids[0], http.NoBody).problem(t, http.StatusBadRequest)
	s.do(t, http.MethodPost, "/api/v1/captures/"+ids[0]+"/merges/00000000-0000-4000-8000-000000000000", http.NoBody).problem(t, http.StatusNotFound)

	require.Equal(t, http.StatusNoContent, s.do(t, http.MethodDelete, "/api/v1"+path, http.NoBody).status)
	s.get(t, path+"/directions").problem(t, http.StatusNotFound)
}
