package ship

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture/portstat"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

// Options say where rows go.
type Options struct {
	Directory  string // where the agent keeps who it is, and what has not arrived
	SpoolBytes int64
	Host       string // name of the host, the kernel's when empty
	Version    string
	Interval   time.Duration
	Interfaces []string
	Shipper    shipping.ShipperConfig
	Logger     *slog.Logger
}

// Agent ships what watches find. Its methods may be called from any goroutine.
type Agent struct {
	options Options
	id, run uuid.UUID
	started time.Time
	kernel  string
	spool   *spool.Spool
	shipper *shipping.Shipper
	adding  sync.Mutex // held from an interval's first row to its Sync, since a Sync is for all

	mutex     sync.Mutex
	latest    map[string]interval
	rdma      map[string][]portstat.RDMA
	tiers     map[string]string
	confirmed time.Time // rows were, or none waited
	problem   string    // as it was logged

	gone     map[string]uint64 // drops on interfaces that are watched no more, by reason
	changes  chan change
	triggers func() Triggers
}

// interval is the latest of an interface.
type interval struct {
	up      bool
	lasting time.Duration
	account watch.Account
	total   watch.Account
}

// Open opens the spool, which belongs to one process.
func Open(o Options) (*Agent, error) {
	if o.Host == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("ask for the name of the host: %w", err)
		}
		o.Host = name
	}
	run, err := uuid.NewRandom()
	if err != nil {
		return nil, err
	}
	queue, err := spool.Open(filepath.Join(o.Directory, "spool"), spool.Options{MaxBytes: o.SpoolBytes})
	if errors.Is(err, spool.ErrLocked) {
		return nil, fmt.Errorf("another rocelens-agent uses the state directory %s: give each its own --state", o.Directory)
	}
	if err != nil {
		return nil, err
	}
	a := &Agent{options: o, run: run, started: time.Now(), confirmed: time.Now(), kernel: kernelRelease(), spool: queue, latest: map[string]interval{}, rdma: map[string][]portstat.RDMA{}, tiers: map[string]string{}}
	a.gone, a.changes = map[string]uint64{}, make(chan change, 1)
	if a.id, err = identity(filepath.Join(o.Directory, "agent-id")); err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	if a.shipper, err = shipping.NewShipper(o.Shipper, queue); err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	return a, nil
}

func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// ID is who the agent is.
func (a *Agent) ID() uuid.UUID { return a.id }

// Close ends the use of the spool. What has not arrived waits for the next start.
func (a *Agent) Close() error { return a.spool.Close() }

// ended notes an interval of a watch.
func (a *Agent) ended(i *watch.Interval, account *watch.Account) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	total := i.Total
	total.Drops = maps.Clone(total.Drops)
	for _, reason := range []string{watch.DropSpoolFull, watch.DropSpoolFailed} {
		if n := a.latest[i.Interface].total.Drops[reason] + account.Drops[reason]; n > 0 {
			total.Drops[reason] = n
		}
	}
	a.latest[i.Interface] = interval{i.Up, i.End.Sub(i.Start), *account, total}
}

// NoteTier keeps how an interface is watched, for the heartbeat.
func (a *Agent) NoteTier(name, tier string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.tiers[name] = tier
}

// Run ships, and says once an interval how the agent is, until watching is closed. Then it ships for at most last what is left.
func (a *Agent) Run(ctx context.Context, watching <-chan struct{}, last time.Duration) error {
	ended := make(chan error, 1)
	begin := func() context.CancelFunc {
		sending, stop := context.WithCancel(ctx)
		go func() { ended <- a.shipper.Run(sending) }()
		return stop
	}
	stop := begin()
	defer func() { stop() }()
	beat := time.NewTicker(a.lasting())
	defer beat.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-beat.C:
			a.beat()
		case next := <-a.changes:
			beat.Reset(next.interval)
			stop()
			if err := errors.Join(<-ended, a.shipper.Retarget(next.target)); err != nil {
				return err
			}
			stop = begin()
		case <-watching: // all watches have ended, and their rows are in the spool
			a.beat()
			a.drain(last, ended)
			stop()
			return <-ended
		}
	}
}

// drain waits until nothing waits, but not for ever.
func (a *Agent) drain(last time.Duration, ended chan error) {
	timeout := time.NewTimer(last)
	defer timeout.Stop()
	for {
		waiting := a.spool.State()
		if waiting.Records == 0 {
			return
		}
		select {
		case <-a.shipper.Progress():
		case err := <-ended:
			ended <- err
			return
		case <-timeout.C:
			a.options.Logger.Warn("rows wait on disk for the next start", slog.Uint64("rows", waiting.Units), slog.String("why", a.shipper.State().Problem))
			return
		}
	}
}

// beat puts a heartbeat into the spool.
func (a *Agent) beat() {
	a.watchdog()
	h := a.Heartbeat(time.Now())
	b := h.Batch()
	a.adding.Lock()
	defer a.adding.Unlock()
	err := a.spool.Add(spool.Entry{Data: b.Data, Units: b.Rows, Time: h.Time.UnixNano(), Urgent: true})
	if err == nil {
		err = a.spool.Sync()
	}
	if err != nil {
		a.options.Logger.Warn("the agent cannot report itself", slog.Any("cause", err))
	}
}

// Heartbeat is how the agent is.
func (a *Agent) Heartbeat(now time.Time) shipping.AgentHeartbeat {
	waiting, shipped := a.spool.State(), a.shipper.State()
	h := shipping.AgentHeartbeat{
		Agent: a.id, Time: now.UTC(), Run: a.run, Started: a.started.UTC(), Host: a.options.Host, Version: a.options.Version,
		Kernel: a.kernel, Architecture: runtime.GOARCH, Interval: a.lasting(), Problem: a.Problem(now), Drops: map[string]uint64{},
		SpoolRows: waiting.Units, SpoolBatches: waiting.Records, SpoolBytes: uint64(waiting.Bytes), SpoolLimit: uint64(a.options.SpoolBytes),
		SpoolTornBytes: uint64(waiting.TornBytes), SpoolDamaged: waiting.DamagedRecords, Failures: shipped.Failures,
	}
	if waiting.Oldest != 0 {
		h.Lag = max(0, now.Sub(time.Unix(0, waiting.Oldest)))
	}
	t := a.asked()
	h.Triggers, h.LastTrigger, h.LastTriggerEvent, h.RecordsWaiting, h.RecordsLost = t.Events, t.Last, t.LastEvent, t.Waiting, t.Lost
	for _, n := range shipped.ConfirmedRows {
		h.ShippedRows += n
	}
	for _, n := range shipped.Refused {
		h.RefusedRows += n
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	maps.Copy(h.Drops, a.gone)
	for _, name := range a.options.Interfaces {
		i := a.latest[name]
		one := shipping.AgentInterface{Name: name, Tier: a.tiers[name], Up: i.up}
		if ports, read := a.rdma[name]; read {
			one.RDMA, one.Bypassed = rdmaOf(ports)
		}
		h.Interfaces = append(h.Interfaces, one)
		if seconds := i.lasting.Seconds(); seconds > 0 {
			h.PacketsPerSecond += float64(i.account.SourceIn) / seconds
			h.RDMAPacketsPerSecond += float64(i.account.DecodeOut) / seconds
			h.BitsPerSecond += float64(i.account.Bytes) * 8 / seconds
		}
		for reason, n := range i.total.Drops {
			if !strings.HasPrefix(reason, "decode: ") { // what is no RDMA is not lost
				h.Drops[reason] += n
			}
		}
	}
	return h
}

// overdue is for how long packets may come in and no rows go out, in intervals and at least.
const (
	overdueIntervals = 3
	overdue          = 30 * time.Second
)

// Problem is what is wrong, in one sentence for each, empty when all is well.
func (a *Agent) Problem(now time.Time) string {
	waiting, shipped := a.spool.State(), a.shipper.State()
	var all []string
	if shipped.Problem != "" {
		all = append(all, shipped.Problem)
	}
	if t := a.asked(); t.Problem != "" {
		all = append(all, t.Problem)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch {
	case waiting.Records == 0:
		a.confirmed = now
	case shipped.LastConfirmed.After(a.confirmed):
		a.confirmed = shipped.LastConfirmed
	}
	if since := now.Sub(a.confirmed); waiting.Records > 0 && since > max(overdue, overdueIntervals*a.options.Interval) {
		all = append(all, fmt.Sprintf("packets come in and no row has gone out for %s", since.Round(time.Second)))
	}
	for _, name := range slices.Sorted(maps.Keys(a.latest)) {
		if i := a.latest[name]; !i.up {
			all = append(all, "the network interface "+name+" is down or has gone away")
		} else if n := i.account.Drops[watch.DropRing]; n > 0 {
			all = append(all, fmt.Sprintf("%s lost %d packets in the last interval, because its ring was full", name, n))
		} else if n := i.account.Drops[watch.DropShed]; n > 0 {
			all = append(all, fmt.Sprintf("%d packets of %s in the last interval are of connections that are not followed, to keep --cpu-budget", n, name))
		} else if n := i.account.Drops[watch.DropTableFull]; n > 0 {
			all = append(all, fmt.Sprintf("%d packets of %s in the last interval belong to no row, because the kernel's table was full: give it more by --kernel-entries", n, name))
		}
		if n := a.latest[name].account.Drops[watch.DropSpoolFull] + a.latest[name].account.Drops[watch.DropSpoolFailed]; n > 0 {
			all = append(all, fmt.Sprintf("the rows of %d packets of %s in the last interval did not get on disk", n, name))
		}
	}
	return strings.Join(all, "; ")
}

// watchdog logs a problem when it begins, changes or ends.
func (a *Agent) watchdog() {
	problem := a.Problem(time.Now())
	a.mutex.Lock()
	was := a.problem
	a.problem = problem
	a.mutex.Unlock()
	switch problem {
	case was:
	case "":
		a.options.Logger.Info("all is well again")
	default:
		a.options.Logger.Warn("there is a problem", slog.String("problem", problem))
	}
}
