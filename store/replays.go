package store

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/replay/finding"
)

// ReplayDirection is a row of the table replays.
type ReplayDirection struct {
	ConnectionID   uint64            `ch:"connection_id"`
	Sender         net.IP            `ch:"sender"`
	SenderQP       *uint32           `ch:"sender_qp"`
	Transport      string            `ch:"transport"`
	Verdict        int8              `ch:"verdict"` // a finding.Verdict
	Vantage        string            `ch:"vantage"`
	OneWay         uint8             `ch:"one_way"`
	Packets        uint64            `ch:"packets"`
	MissedShare    *float64          `ch:"missed_share"`
	LostBefore     uint64            `ch:"lost_before"`
	LostAfter      uint64            `ch:"lost_after"`
	ResentUnknown  uint64            `ch:"resent_unknown"`
	Missed         uint64            `ch:"missed"`
	ToReceiverMin  *uint64           `ch:"to_receiver_min_ns"`
	ToReceiverMean *uint64           `ch:"to_receiver_mean_ns"`
	ToReceiverMax  *uint64           `ch:"to_receiver_max_ns"`
	ToSenderMin    *uint64           `ch:"to_sender_min_ns"`
	ToSenderMean   *uint64           `ch:"to_sender_mean_ns"`
	ToSenderMax    *uint64           `ch:"to_sender_max_ns"`
	Lasting        *uint64           `ch:"lasting_ns"`
	TimerWaits     *uint64           `ch:"timer_waits"`
	TimerWait      *uint64           `ch:"timer_wait_ns"`
	RNRWaits       *uint64           `ch:"rnr_waits"`
	RNRWait        *uint64           `ch:"rnr_wait_ns"`
	Properties     map[string]string `ch:"properties"`
}

// Replay returns what came of a connection of a capture held against the reference transport: of each direction that was
// seen, the one with more packets first. A connection that was not judged is ErrNotFound.
func (s *Store) Replay(ctx context.Context, capture uuid.UUID, connection finding.ConnectionID) (all []ReplayDirection, err error) {
	id := strconv.FormatUint(uint64(connection), 10)
	found, err := s.conn.Query(ctx, "SELECT "+columnsOf(ReplayDirection{})+" FROM "+s.table(replaysTable)+
		" AS t WHERE t.capture_id = {capture:UUID} AND t.connection_id = "+id+" ORDER BY t.packets DESC, t.sender LIMIT 2",
		clickhouse.Named("capture", capture.String()))
	if err != nil {
		return nil, fmt.Errorf("read the replay of connection %s: %w", id, err)
	}
	defer closing(&err, found)
	for found.Next() {
		var row ReplayDirection
		if err := found.ScanStruct(&row); err != nil {
			return nil, fmt.Errorf("read the replay of connection %s: %w", id, err)
		}
		all = append(all, row)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read the replay of connection %s: %w", id, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("replay of connection %s: %w", id, ErrNotFound)
	}
	return all, nil
}
