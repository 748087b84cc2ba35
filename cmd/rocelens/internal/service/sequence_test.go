package service_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
)

// The rows of a sequence are the packets that the page of a divergence shows, of the same kinds.
func TestASequenceOfPSNs(t *testing.T) {
	s := web(t)
	capture, d := s.divergence(t, "base-cm-send-write-read.pcap", "roce.starting-psn", "diverges")
	base := "/captures/" + capture.Id.String()
	var detail api.DivergenceDetail
	s.get(t, base+"/divergences/"+d.Id).into(t, &detail)
	var near api.Surroundings
	s.get(t, base+"/divergences/"+d.Id+"/packets?around=200").into(t, &near)
	kinds := map[int64]api.PacketKind{}
	for _, id := range detail.FlowIds {
		var got api.Sequence
		s.get(t, base+"/flows/"+id+"/sequence").into(t, &got)
		for i, number := range got.Number {
			kinds[number] = got.Kind[i]
			require.Equal(t, got.PsnMin[i], got.PsnMax[i])
		}
	}
	require.Len(t, kinds, len(near.Packets))
	for _, p := range near.Packets {
		require.Equal(t, p.Kind, kinds[p.Packet.Number], "packet %d", p.Packet.Number)
	}
	s.get(t, base+"/flows/1/sequence").problem(t, http.StatusNotFound)
	s.get(t, base+"/flows/1/sequence?bins=5").problem(t, http.StatusBadRequest)
	s.get(t, base+"/flows/99999999999999999999/sequence").problem(t, http.StatusBadRequest)
}

// Selective acknowledgments name the rows that they came with.
func TestASequenceOfMetaRoCE(t *testing.T) {
	s := web(t)
	c, f := s.metaRoCE(t, "metaroce/loss.pcap")
	var got api.Sequence
	s.get(t, "/captures/"+c.Id.String()+"/flows/"+f.Id+"/sequence").into(t, &got)
	require.NotEmpty(t, got.SackRow)
	for i, row := range got.SackRow {
		require.Equal(t, api.PacketKindSack, got.Kind[row])
		require.Greater(t, got.SackFirst[i], *got.PsnMin[row], "what is expected is not acknowledged")
		require.GreaterOrEqual(t, got.SackLast[i], got.SackFirst[i])
	}
	start, err := strconv.ParseInt(got.StartNs, 10, 64)
	require.NoError(t, err)
	require.Positive(t, start)
	require.Positive(t, got.SpanNs)
}
