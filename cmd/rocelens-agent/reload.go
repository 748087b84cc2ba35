package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/ship"
)

// arguments are the command line, which a reload reads again with the file that it names.
type arguments []string

// reread reads the configuration as at the start.
func (a arguments) reread() (*runCommand, error) {
	var root commandLine
	parser, err := kong.New(&root, kong.Name("rocelens-agent"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}), kong.Vars{"version": version})
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(a); err != nil {
		return nil, err
	}
	return &root.Run, root.Run.check()
}

// crew is the watches at work, which a reload changes.
type crew struct {
	fail    context.CancelCauseFunc
	working sync.WaitGroup

	mutex   sync.Mutex
	errs    []error
	members map[string]member
}

// member is one watch at work.
type member struct {
	watch   watcher
	dismiss context.CancelFunc
	done    chan struct{}
}

// start lets a watch work until ctx ends, which is that of all, or it is dismissed. When it ends otherwise, all end.
func (c *crew) start(all context.Context, name string, one watcher) {
	ctx, dismiss := context.WithCancel(all)
	m := member{one, dismiss, make(chan struct{})}
	c.members[name] = m
	c.working.Go(func() {
		defer close(m.done)
		err := one.Run(ctx)
		if err == nil && ctx.Err() != nil && all.Err() == nil {
			return
		}
		c.mutex.Lock()
		c.errs = append(c.errs, err)
		c.mutex.Unlock()
		c.fail(err)
	})
}

// dismiss ends a watch, whose rows are in the spool then.
func (c *crew) dismiss(name string) {
	m := c.members[name]
	m.dismiss()
	<-m.done
	delete(c.members, name)
}

// err is what ended the watches.
func (c *crew) err() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return errors.Join(c.errs...)
}

// reloading rereads the configuration at each SIGHUP, until ctx ends.
func (w *watches) reloading(ctx context.Context, c *crew, agent *ship.Agent) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	c.working.Go(func() {
		defer signal.Stop(asked)
		for {
			select {
			case <-asked:
				if err := w.reload(ctx, c, agent); err != nil {
					w.logger.Error("the new configuration is refused, and the old one goes on", slog.Any("cause", err))
				}
			case <-ctx.Done():
				return
			}
		}
	})
}

// reload takes over what can change while packets pass. After an error nothing has changed.
func (w *watches) reload(ctx context.Context, c *crew, agent *ship.Agent) error {
	now := w.command
	fresh, err := w.arguments.reread()
	if err != nil {
		return err
	}
	target, err := fresh.target(w.logger)
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(fresh.LogLevel)); err != nil {
		return err
	}
	added, removed := without(fresh.Interfaces, now.Interfaces), without(now.Interfaces, fresh.Interfaces)
	if len(added)+len(removed) > 0 && w.hub != nil {
		return errors.New("interfaces cannot change while the flight recorder is on: start the agent anew")
	}
	if (now.ClickHouse == "") != (fresh.ClickHouse == "") || (now.Server == "") != (fresh.Server == "") {
		return errors.New("whether rows are shipped to ClickHouse, to a server or not at all cannot change: start the agent anew")
	}
	var opened []watcher
	was := now.Interval
	now.Interval = fresh.Interval
	for _, name := range added {
		one, err := w.begin(name)
		if err != nil {
			for _, o := range opened {
				err = errors.Join(err, o.Close())
			}
			now.Interval = was
			return err
		}
		opened = append(opened, one)
	}
	for i, one := range opened {
		c.start(ctx, added[i], one)
	}
	for _, name := range removed {
		c.dismiss(name)
		w.gauges.forget(name)
	}
	for _, m := range c.members {
		m.watch.SetInterval(fresh.Interval)
	}
	w.level.Set(level)
	now.Interfaces, now.LogLevel, now.databaseFlags, now.serverFlags = fresh.Interfaces, fresh.LogLevel, fresh.databaseFlags, fresh.serverFlags
	if agent != nil {
		agent.Reload(fresh.Interfaces, fresh.Interval, target)
	}
	w.logger.Info("the configuration was read again", slog.String("interfaces", strings.Join(fresh.Interfaces, " ")), slog.Duration("interval", fresh.Interval))
	if waiting := differences(reflect.ValueOf(*now), reflect.ValueOf(*fresh)); len(waiting) > 0 {
		w.logger.Warn("some of what has changed waits for the next start", slog.String("settings", strings.Join(waiting, " ")))
	}
	return nil
}

// without is what all has and taken has not.
func without(all, taken []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(taken, s) })
}

// differences names the fields of two commands that differ.
func differences(a, b reflect.Value) (names []string) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		switch {
		case field.Anonymous:
			names = append(names, differences(a.Field(i), b.Field(i))...)
		case !field.IsExported():
		case fmt.Sprint(a.Field(i).Interface()) != fmt.Sprint(b.Field(i).Interface()):
			name := field.Tag.Get("name")
			if name == "" {
				name = strings.ToLower(field.Name)
			}
			names = append(names, name)
		}
	}
	return names
}

// forget lets go of an interface that is watched no more.
func (g *gauges) forget(name string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	delete(g.latest, name)
}
