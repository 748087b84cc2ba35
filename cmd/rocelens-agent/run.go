package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rocelens/rocelens/capture/afpacket"
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
	NoPromiscuous bool          `env:"ROCELENS_AGENT_NO_PROMISCUOUS" help:"Leave frames alone that are not addressed to the interface."`
	RingMiB       int           `name:"ring" default:"32" env:"ROCELENS_AGENT_RING" help:"MiB of the ring of each interface that bridges moments without attention (${default})."`
	Print         bool          `env:"ROCELENS_AGENT_PRINT" help:"Print flows as JSON lines, too; without --clickhouse that is all that is done."`
	LogLevel      string        `env:"ROCELENS_AGENT_LOG_LEVEL" enum:"debug,info,warn,error" default:"info" help:"debug, info, warn or error (${default})."`
	Listen        string        `env:"ROCELENS_AGENT_LISTEN" placeholder:"ADDR" help:"Serve /metrics for Prometheus and /healthz here, for instance 127.0.0.1:9477."`
	Host          string        `env:"ROCELENS_AGENT_HOST" placeholder:"NAME" help:"Name of this host in the database. Default: its own."`
	State         string        `default:"/var/lib/rocelens-agent" env:"ROCELENS_AGENT_STATE" type:"path" placeholder:"DIR" help:"Where rows wait while the database is away, and the agent keeps who it is (${default})."`
	SpoolMiB      int           `name:"spool" default:"1024" env:"ROCELENS_AGENT_SPOOL" help:"MiB that rows may take there (${default}). When it is full, new rows are dropped, and counted."`

	databaseFlags
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
)

func (c *runCommand) check() error {
	switch {
	case c.Interval < minInterval || c.Interval > maxInterval:
		return fmt.Errorf("--interval must be between %s and %s", minInterval, maxInterval)
	case c.RingMiB < minRing || c.RingMiB > maxRing:
		return fmt.Errorf("--ring must be between %d and %d", minRing, maxRing)
	case c.SpoolMiB < minSpool || c.SpoolMiB > maxSpool:
		return fmt.Errorf("--spool must be between %d and %d", minSpool, maxSpool)
	}
	sorted := slices.Sorted(slices.Values(c.Interfaces))
	if len(slices.Compact(slices.Clone(sorted))) != len(sorted) {
		return errors.New("--interface names one interface twice")
	}
	return nil
}

// Run captures until it is told to stop, and then reports what it has.
func (c *runCommand) Run(ctx context.Context, out io.Writer, stderr logOutput) error {
	if err := c.check(); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if c.Check {
		_, err := c.shipper(logger)
		return err
	}
	var agent *ship.Agent
	if c.ClickHouse != "" {
		target, err := c.shipper(logger)
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
	watches, err := c.open(agent, out, logger)
	if err == nil && c.Listen != "" {
		var server *telemetry
		if server, err = listen(ctx, c.Listen, agent, watches.gauges, logger); err == nil {
			defer server.stop()
		}
	}
	if err != nil {
		if agent != nil {
			err = errors.Join(err, agent.Close())
		}
		return err
	}
	return watches.run(ctx, agent)
}

// watches are all interfaces at work.
type watches struct {
	all    []*watch.Watch
	gauges *gauges
}

// open begins to capture on each interface, or on none.
func (c *runCommand) open(agent *ship.Agent, out io.Writer, logger *slog.Logger) (*watches, error) {
	w := &watches{gauges: newGauges()}
	shared := newPage(out)
	for _, name := range c.Interfaces {
		into := sinks{w.gauges}
		if agent == nil || c.Print {
			into = append(into, &printer{page: shared, name: name})
		}
		if agent != nil {
			into = append(into, agent.NewRecorder())
		}
		one, err := watch.Open(watch.Options{
			Interface: name, Interval: c.Interval, Logger: logger,
			Capture: afpacket.Options{RingBytes: c.RingMiB << 20, NoPromiscuous: c.NoPromiscuous},
		}, into)
		if err != nil {
			for _, opened := range w.all {
				err = errors.Join(err, opened.Close())
			}
			return nil, err
		}
		w.all = append(w.all, one)
	}
	return w, nil
}

// lastTries is for how long a stop waits for rows to arrive. Those that do not are sent after the next start.
const lastTries = 5 * time.Second

// run works until ctx ends or one interface fails for good.
func (w *watches) run(ctx context.Context, agent *ship.Agent) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	errs := make([]error, len(w.all)+1)
	done := make(chan struct{})
	for i, one := range w.all {
		running.Go(func() {
			errs[i] = one.Run(ctx)
			cancel(errs[i]) // the others stop, too
		})
	}
	go func() {
		running.Wait()
		close(done)
	}()
	if agent == nil {
		<-done
		return errors.Join(errs...)
	}
	if err := agent.Run(context.WithoutCancel(ctx), done, lastTries); err != nil {
		errs[len(w.all)] = err
		cancel(err)
	}
	<-done
	return errors.Join(errors.Join(errs...), agent.Close())
}
