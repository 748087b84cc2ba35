package service

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// defaultSequenceBins is the default of the API's document.
const defaultSequenceBins = 1000

// sequenceKinds are the kinds by the store's numbers.
var sequenceKinds = [...]api.PacketKind{
	store.SequenceData: api.PacketKindData, store.SequenceResponse: api.PacketKindResponse, store.SequenceAck: api.PacketKindAck,
	store.SequenceSack: api.PacketKindSack, store.SequenceNak: api.PacketKindNak, store.SequenceRNR: api.PacketKindRnr,
	store.SequenceCNP: api.PacketKindCnp, store.SequenceControl: api.PacketKindControl, store.SequenceOther: api.PacketKindOther,
}

// Sequence implements server.Replays.
func (r *replays) Sequence(ctx context.Context, capture uuid.UUID, id uint64, params api.GetSequenceParams) (api.Sequence, error) {
	query := store.SequenceQuery{From: params.From, To: params.To, Bins: valueOr(params.Bins, defaultSequenceBins)}
	if params.PathId != nil {
		path := uint8(*params.PathId)
		query.Path = &path
	}
	found, err := r.store.Sequence(ctx, capture, flow.ID(id), query)
	if err != nil {
		return api.Sequence{}, served(err)
	}
	return sequenceOf(&found), nil
}

func sequenceOf(found *store.Sequence) api.Sequence {
	n := len(found.Rows)
	out := api.Sequence{
		StartNs: strconv.FormatInt(found.Start, 10), SpanNs: found.Span, Packets: int64(found.Packets), Timeless: int64(found.Timeless),
		BinNs: found.Bin, Tracks: make([]api.SequenceTrack, 0, len(found.Tracks)),
		AtNs: make([]int64, 0, n), Number: make([]int64, 0, n), Kind: make([]api.PacketKind, 0, n), Track: make([]int, 0, n),
		Marks: make([]int, 0, n), Count: make([]int64, 0, n), PsnMin: make([]*int64, 0, n), PsnMax: make([]*int64, 0, n),
		SackRow: []int{}, SackFirst: []int64{}, SackLast: []int64{},
	}
	for _, t := range found.Tracks {
		out.Tracks = append(out.Tracks, api.SequenceTrack{PathId: narrow(t.Path), PsnBits: api.SequenceTrackPsnBits(t.Bits), FirstPsn: t.First, Packets: int64(t.Packets)})
	}
	for i := range found.Rows {
		row := &found.Rows[i]
		out.AtNs, out.Number = append(out.AtNs, row.At-found.Start), append(out.Number, int64(row.Number))
		out.Kind, out.Track = append(out.Kind, sequenceKinds[row.Kind]), append(out.Track, row.Track)
		out.Marks, out.Count = append(out.Marks, int(row.Marks)), append(out.Count, int64(row.Count))
		out.PsnMin, out.PsnMax = append(out.PsnMin, row.Min), append(out.PsnMax, row.Max)
		for run := range row.SACKFirst {
			out.SackRow = append(out.SackRow, i)
			out.SackFirst, out.SackLast = append(out.SackFirst, row.SACKFirst[run]), append(out.SackLast, row.SACKLast[run])
		}
	}
	return out
}
