package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/budget"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/flight"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/judging"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/ship"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/internal/configfile"
)

// configEnv is the environment variable that names the configuration file.
const configEnv = "ROCELENS_AGENT_CONFIG"

// runCommand ships what it sees to ClickHouse, or prints it.
type runCommand struct {
	Config        string        `placeholder:"FILE" help:"TOML file with any of these flags as keys; also $$ROCELENS_AGENT_CONFIG."`
	Check         bool          `help:"Check the configuration and stop."`
	Interfaces    []string      `name:"interface" short:"i" required:"" env:"ROCELENS_AGENT_INTERFACE" placeholder:"NAME" help:"Network interface to capture on; several may be given."`
	Interval      time.Duration `default:"10s" env:"ROCELENS_AGENT_INTERVAL" help:"Report what was seen so often, 1s to 60s (${default})."`
	Idle          time.Duration `default:"1m" env:"ROCELENS_AGENT_IDLE" help:"Forget a connection after so long a silence, 1s to 1h (${default}). What comes later begins a new one."`
	MaxFlows      int           `default:"1048576" env:"ROCELENS_AGENT_MAX_FLOWS" help:"Follow so many flows at most on each interface, of 1.3 KiB each (${default}). One more makes that end which was silent for longest."`
	NoPromiscuous bool          `env:"ROCELENS_AGENT_NO_PROMISCUOUS" help:"Leave frames alone that are not addressed to the interface."`
	RingMiB       int           `name:"ring" default:"32" env:"ROCELENS_AGENT_RING" help:"MiB of the ring of each interface that bridges moments without attention (${default})."`
	Print         bool          `env:"ROCELENS_AGENT_PRINT" help:"Print flows as JSON lines, too; without --clickhouse that is all that is done."`
	LogLevel      string        `env:"ROCELENS_AGENT_LOG_LEVEL" enum:"debug,info,warn,error" default:"info" help:"debug, info, warn or error (${default})."`
	Listen        string        `env:"ROCELENS_AGENT_LISTEN" placeholder:"ADDR" help:"Serve /metrics for Prometheus and /healthz here, for instance 127.0.0.1:9477."`
	Host          string        `env:"ROCELENS_AGENT_HOST" placeholder:"NAME" help:"Name of this host in the database. Default: its own."`
	State         string        `default:"/var/lib/rocelens-agent" env:"ROCELENS_AGENT_STATE" type:"path" placeholder:"DIR" help:"Where rows wait while the database is away, and the agent keeps who it is (${default})."`
	SpoolMiB      int           `name:"spool" default:"1024" env:"ROCELENS_AGENT_SPOOL" help:"MiB that rows may take there (${default}). When it is full, new rows are dropped, and counted."`

	tierFlags
	captureFlags
	budgetFlags
	counterFlags
	replayFlags
	flightFlags
	databaseFlags
	serverFlags

	share *budget.Share // of connections that is followed; nil without a budget
}

// BeforeResolve reads the configuration file.
func (c *runCommand) BeforeResolve(ctx *kong.Context) error {
	if err := configfile.Load(ctx, configEnv); err != nil {
		return &failure{err}
	}
	return nil
}

// Bounds of what may be asked for.
const (
	minInterval, maxInterval = time.Second, time.Minute
	minRing, maxRing         = 2, 1 << 14 // MiB
	minSpool, maxSpool       = 1, 1 << 20
	minIdle, maxIdle         = time.Second, time.Hour
	minFlows, maxFlows       = 1 << 10, 1 << 26
)

func (c *runCommand) check() error {
	switch {
	case c.Interval < minInterval || c.Interval > maxInterval:
		return fmt.Errorf("--interval must be between %s and %s", minInterval, maxInterval)
	case c.RingMiB < minRing || c.RingMiB > maxRing:
		return fmt.Errorf("--ring must be between %d and %d", minRing, maxRing)
	case c.SpoolMiB < minSpool || c.SpoolMiB > maxSpool:
		return fmt.Errorf("--spool must be between %d and %d", minSpool, maxSpool)
	case c.Idle < minIdle || c.Idle > maxIdle:
		return fmt.Errorf("--idle must be between %s and %s", minIdle, maxIdle)
	case c.MaxFlows < minFlows || c.MaxFlows > maxFlows:
		return fmt.Errorf("--max-flows must be between %d and %d", minFlows, maxFlows)
	}
	if err := errors.Join(c.checkTier(), c.budgetFlags.check(), c.replayFlags.check(), c.flightFlags.check(c.Replay)); err != nil {
		return err
	}
	if _, err := c.flows(); err != nil {
		return err
	}
	sorted := slices.Sorted(slices.Values(c.Interfaces))
	if len(slices.Compact(slices.Clone(sorted))) != len(sorted) {
		return errors.New("--interface names one interface twice")
	}
	return nil
}

// Run captures until it is told to stop, and then reports what it has.
func (c *runCommand) Run(ctx context.Context, args arguments, out io.Writer, stderr logOutput) error {
	if err := c.check(); err != nil {
		return err
	}
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if c.Check {
		_, err := c.target(logger)
		return err
	}
	var agent *ship.Agent
	if c.ClickHouse != "" || c.Server != "" {
		target, err := c.target(logger)
		if err != nil {
			return err
		}
		if agent, err = ship.Open(ship.Options{
			Directory: c.State, SpoolBytes: int64(c.SpoolMiB) << 20, Host: c.Host, Version: version, Interval: c.Interval,
			Interfaces: c.Interfaces, Shipper: target, Logger: logger,
		}); err != nil {
			return err
		}
	}
	if c.CPUBudget > 0 {
		c.share = new(budget.Share)
	}
	watches, err := c.open(agent, out, logger)
	if err == nil {
		watches.command, watches.arguments, watches.level = c, args, level
	}
	if err == nil && c.Listen != "" {
		var server *telemetry
		if server, err = listen(ctx, c.Listen, agent, watches.gauges, c.page(watches.hub), logger); err == nil {
			defer server.stop()
		}
	}
	if err != nil {
		if agent != nil {
			err = errors.Join(err, agent.Close())
		}
		return err
	}
	defer watches.gauges.serviced(ctx, logger)()
	defer c.keep(ctx, logger)()
	return watches.run(ctx, agent)
}

// watches are all interfaces at work.
type watches struct {
	all    []watcher
	gauges *gauges
	hub    *flight.Hub // nil without a flight recorder
	logger *slog.Logger

	// What a reload needs.
	command   *runCommand // as it is in force
	arguments arguments
	level     *slog.LevelVar
	names     []string                           // of all
	begin     func(name string) (watcher, error) // opens one more
}

// open begins to capture on each interface, or on none.
func (c *runCommand) open(agent *ship.Agent, out io.Writer, logger *slog.Logger) (*watches, error) {
	hub, err := c.hub(agent, logger)
	if err != nil {
		return nil, err
	}
	w := &watches{gauges: newGauges(), hub: hub, logger: logger}
	shared := newPage(out)
	w.begin = func(name string) (watcher, error) {
		into, taps := sinks{w.gauges}, []watch.Tap(nil)
		companions := c.counters(agent, name, logger)
		var found judging.Found
		if hub != nil {
			recorder := hub.NewRecorder(name)
			taps, found = append(taps, recorder), recorder.Found // a packet is kept before it is judged
		}
		if judge := c.judge(found); judge != nil {
			into, taps, companions = append(into, judge), append(taps, judge), append(companions, judge)
		}
		if agent == nil || c.Print {
			into = append(into, &printer{page: shared, name: name})
		}
		if agent != nil {
			into = append(into, agent.NewRecorder(companions...))
		}
		note := func(string) {}
		if agent != nil {
			note = func(tier string) { agent.NoteTier(name, tier) }
		}
		return c.watch(name, into, taps, note, logger)
	}
	for _, name := range c.Interfaces {
		one, err := w.begin(name)
		if err != nil {
			for _, opened := range w.all {
				err = errors.Join(err, opened.Close())
			}
			return nil, err
		}
		w.all, w.names = append(w.all, one), append(w.names, name)
	}
	return w, nil
}

// lastTries is for how long a stop waits for rows to arrive. Those that do not are sent after the next start.
const lastTries = 5 * time.Second

// run works until ctx ends or one interface fails for good.
func (w *watches) run(ctx context.Context, agent *ship.Agent) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &crew{fail: cancel, members: map[string]member{}}
	for i, one := range w.all {
		c.start(ctx, w.names[i], one)
	}
	w.reloading(ctx, c, agent)
	done := make(chan struct{})
	stop := w.recorded(ctx)
	go func() {
		c.working.Wait()
		stop()
		close(done)
	}()
	if agent == nil {
		<-done
		return c.err()
	}
	err := agent.Run(context.WithoutCancel(ctx), done, lastTries)
	if err != nil {
		cancel(err)
	}
	<-done
	return errors.Join(c.err(), err, agent.Close())
}
