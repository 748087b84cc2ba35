package service

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// Replay implements server.Replays.
func (r *replays) Replay(ctx context.Context, capture uuid.UUID, id uint64) (out api.Replay, err error) {
	of, err := r.store.Flow(ctx, capture, flow.ID(id))
	if err != nil {
		return out, served(err)
	}
	directions, err := r.store.Replay(ctx, capture, finding.ConnectionID(of.ConnectionID))
	if err != nil {
		return out, served(err)
	}
	first := &directions[0]
	out = api.Replay{
		ConnectionId: strconv.FormatUint(first.ConnectionID, 10), Transport: api.ReplayTransport(first.Transport), Verdict: api.Verdict(finding.Verdict(first.Verdict).String()),
		Vantage: api.Vantage(first.Vantage), OneWay: first.OneWay != 0, Properties: first.Properties,
	}
	for i := range directions {
		out.Directions = append(out.Directions, replayDirectionOf(&directions[i]))
	}
	return out, nil
}

func replayDirectionOf(d *store.ReplayDirection) api.ReplayDirection {
	out := api.ReplayDirection{
		Sender: api.End{Address: d.Sender.String(), Qp: wide(d.SenderQP)}, Packets: int64(d.Packets), MissedShare: d.MissedShare,
		LostBefore: int64(d.LostBefore), LostAfter: int64(d.LostAfter), ResentUnknown: int64(d.ResentUnknown), Missed: int64(d.Missed),
		ToReceiver: roundTripOf(d.ToReceiverMin, d.ToReceiverMean, d.ToReceiverMax), ToSender: roundTripOf(d.ToSenderMin, d.ToSenderMean, d.ToSenderMax),
	}
	if d.Lasting != nil && d.TimerWaits != nil && d.TimerWait != nil && d.RNRWaits != nil && d.RNRWait != nil {
		out.Waits = &api.Waits{
			LastingNs: int64(*d.Lasting), Timers: int64(*d.TimerWaits), TimerNs: int64(*d.TimerWait), Rnrs: int64(*d.RNRWaits), RnrNs: int64(*d.RNRWait),
		}
	}
	return out
}

func roundTripOf(shortest, mean, longest *uint64) *api.RoundTrip {
	if shortest == nil || mean == nil || longest == nil {
		return nil
	}
	return &api.RoundTrip{MinNs: int64(*shortest), MeanNs: int64(*mean), MaxNs: int64(*longest)}
}
