package main

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/ship"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

// observed gives a recorder intervals of known packets, as a watch does, and keeps their sum.
type observed struct {
	recorder *ship.Recorder
	at       time.Time
	number   uint64
	packets  uint64
	total    watch.Account
}

// interval is one of so many flows, whose rows say so little of each other that they do not become few bytes.
func (o *observed) interval(t *testing.T, flows int) {
	t.Helper()
	i := watch.Interval{Interface: "eth0", Start: o.at, End: o.at.Add(time.Second), Up: true, Account: watch.Account{Drops: map[string]uint64{}}}
	for range flows {
		o.number++
		hash := o.number * 0x9e3779b97f4a7c15
		o.recorder.Flow(&flow.Record{ID: flow.ID(hash), ConnectionID: flow.ID(hash ^ hash>>29), Packets: 1 + o.number%7, Bytes: hash >> 20, PayloadBytes: hash >> 24})
		i.Account.TrackOut += 1 + o.number%7
	}
	n := i.Account.TrackOut
	i.Account.SourceIn, i.Account.SourceOut, i.Account.DecodeOut, i.Account.FlowRows = n, n, n, uint64(flows)
	o.packets += n
	o.total.SourceIn, o.total.SourceOut, o.total.DecodeOut, o.total.TrackOut = o.packets, o.packets, o.packets, o.packets
	i.Total = o.total
	i.Total.Drops = map[string]uint64{}
	require.NoError(t, o.recorder.End(&i))
	o.at = i.End
}

// TestLedgerHoldsThoughRowsAreLost: rows are lost to a spool that is full and to a disk that is, and wait while the database
// refuses them. In every row, and over all, what did not arrive is counted by reason.
func TestLedgerHoldsThoughRowsAreLost(t *testing.T) {
	db := newDatabase(t)
	for _, test := range []struct {
		name, reason string
		spoolBytes   int64
		disk         int // MiB of the disk that the spool is on; 0: enough
	}{
		{"spool is full", watch.DropSpoolFull, spool.MinBytes, 0},
		{"disk is full", watch.DropSpoolFailed, 64 << 20, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := t.TempDir()
			if test.disk > 0 {
				if os.Geteuid() != 0 {
					t.Skip("only root can make a small disk")
				}
				require.NoError(t, unix.Mount("tmpfs", state, "tmpfs", 0, "size="+strconv.Itoa(test.disk)+"m"))
				t.Cleanup(func() { assert.NoError(t, unix.Unmount(state, 0)) })
			}
			user, password := db.Credentials()
			agent, err := ship.Open(ship.Options{
				Directory: state, SpoolBytes: test.spoolBytes, Host: "node7", Interval: time.Second, Interfaces: []string{"eth0"},
				Shipper: shipping.ShipperConfig{Address: db.Address(), Database: "rocelens", Account: access.Account{User: user, Password: password}, FirstDelay: time.Millisecond, LastDelay: 20 * time.Millisecond},
				Logger:  slog.New(slog.DiscardHandler),
			})
			require.NoError(t, err)
			o := &observed{recorder: agent.NewRecorder(), at: time.Now().UTC().Truncate(time.Second).Add(-time.Hour)}
			lost := func() uint64 { return agent.Heartbeat(time.Now()).Drops[test.reason] }
			for range 200 {
				if o.interval(t, 2000); lost() > 0 {
					break
				}
			}
			require.Positive(t, lost(), "nothing was lost")
			o.interval(t, 2000)
			assert.Contains(t, agent.Problem(time.Now()), "did not get on disk")

			// The database is there, and has not got the table.
			db.ask(t, "RENAME TABLE agent_flows TO agent_flows_away")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			watching, ended := make(chan struct{}), make(chan error, 1)
			go func() { ended <- agent.Run(ctx, watching, patience) }()
			require.Eventually(t, func() bool { return strings.Contains(agent.Problem(time.Now()), "has not got the table agent_flows") }, patience, glance)
			assert.Contains(t, agent.Problem(time.Now().Add(time.Minute)), "no row has gone out for", "the watchdog")
			db.ask(t, "RENAME TABLE agent_flows_away TO agent_flows")
			require.Eventually(t, func() bool { return agent.Heartbeat(time.Now()).SpoolRows == 0 }, patience, glance)

			was := lost()
			for range 3 {
				o.interval(t, 100)
			}
			assert.Equal(t, was, lost(), "there is room again")
			assert.Empty(t, agent.Problem(time.Now()))
			close(watching)
			require.NoError(t, <-ended)
			require.NoError(t, agent.Close())

			mine := " WHERE agent_id = '" + agent.ID().String() + "'"
			numbers := func(n ...uint64) string {
				text := make([]string, len(n))
				for i := range n {
					text[i] = strconv.FormatUint(n[i], 10)
				}
				return strings.Join(text, ",")
			}
			assert.Equal(t, numbers(o.packets, o.packets, o.packets, o.packets-was, was),
				db.ask(t, "SELECT sum(source_in), sum(decode_out), sum(track_out), sum(spool_out), sum(drops['"+test.reason+"']) FROM agent_intervals"+mine))
			assert.Equal(t, numbers(0, o.number),
				db.ask(t, "SELECT countIf(track_out != spool_out + drops['"+test.reason+"']), sum(flow_rows) FROM agent_intervals"+mine), "each row")
			assert.Equal(t, db.ask(t, "SELECT sum(spool_out), sum(spooled_rows) FROM agent_intervals"+mine), db.ask(t, "SELECT sum(packets), count() FROM agent_flows"+mine))
			assert.Equal(t, numbers(was), db.ask(t, "SELECT drops['"+test.reason+"'] FROM agents FINAL"+mine), "the heartbeat")
		})
	}
}
