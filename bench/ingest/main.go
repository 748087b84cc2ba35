// Command ingest measures whether a service keeps up with many agents: each reports once a second, by way of the service or to
// the database itself, while the console asks its questions. All of it runs on this machine, the agents as well.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/rocelens/rocelens/store/embedded"
	"github.com/rocelens/rocelens/store/shipping"
)

const token = "a token of the benchmark's own"

type options struct {
	agents, flows int
	warmUp, run   time.Duration
	direct        bool
}

func main() {
	var o options
	flag.IntVar(&o.agents, "agents", 1000, "agents, each of which reports once a second")
	flag.IntVar(&o.flows, "flows", 20, "flows of each report")
	flag.DurationVar(&o.warmUp, "warm-up", 10*time.Second, "before anything counts")
	flag.DurationVar(&o.run, "run", 30*time.Second, "for which it is measured")
	flag.BoolVar(&o.direct, "direct", false, "agents insert into the database themselves")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := bench(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ingest:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "rocelens-ingest-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := filepath.Abs("bin/rocelens-clickhouse")
	if err != nil {
		return err
	}
	database, err := embedded.Start(ctx, embedded.Options{Data: filepath.Join(dir, "clickhouse"), Program: program})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Stop(context.WithoutCancel(ctx))) }()
	s, err := startService(ctx, dir, database)
	if err != nil {
		return err
	}
	defer s.stop()

	fmt.Printf("making the reports of %d agents ...\n", o.agents)
	begin := time.Now().Truncate(time.Second).Add(-time.Hour) // the times of rows need not be those of their insert
	agents := make([]*agent, o.agents)
	reports := int((o.warmUp + o.run) / time.Second)
	for i := range agents {
		agents[i] = newAgent(i, o, begin, reports)
	}
	work, end := context.WithCancel(ctx)
	group, work := errgroup.WithContext(work)
	start := time.Now()
	for _, a := range agents {
		shipper, err := shipping.NewShipper(s.target(o.direct, database), a)
		if err != nil {
			end()
			return errors.Join(err, group.Wait())
		}
		a.shipper = shipper
		group.Go(func() error { return shipper.Run(work) })
		group.Go(func() error { return a.work(work, start) })
	}
	questions := newQuestions(s.url, agents[0].id)
	group.Go(func() error { return questions.watch(work) })
	group.Go(func() error { return questions.ask(work, start.Add(o.warmUp)) })

	at := func(moment time.Time) (figures, error) {
		select {
		case <-time.After(time.Until(moment)):
			return measure(ctx, database, agents)
		case <-work.Done():
			return figures{}, work.Err()
		}
	}
	before, err := at(start.Add(o.warmUp))
	var after figures
	if err == nil {
		after, err = at(start.Add(o.warmUp + o.run))
	}
	end()
	if failed := group.Wait(); failed != nil && !errors.Is(failed, context.Canceled) {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	report(o, before, after, questions)
	return nil
}

func report(o options, before, after figures, q *questions) {
	way := "by way of the service"
	if o.direct {
		way = "into the database"
	}
	seconds := after.at.Sub(before.at).Seconds()
	due := float64(o.agents * (o.flows + 2)) // and the account of the interface, and the heartbeat
	stored := float64(after.rows-before.rows) / seconds
	fmt.Printf("%d agents %s, %d flows and 2 more rows a report, for %.0f s\n", o.agents, way, o.flows, seconds)
	fmt.Printf("  rows a second      due %9.0f   confirmed %9.0f   (%.1f %%)\n", due, stored, 100*stored/due)
	fmt.Printf("  waiting batches    at the begin %d, at the end %d; the oldest of them for %s\n", before.waiting, after.waiting, after.oldest.Round(100*time.Millisecond))
	fmt.Printf("  rows in the tables %d confirmed, %d found; tries that failed: %d\n", after.rows, after.found, after.failures)
	fmt.Printf("  parts in the tables %d\n", after.parts)
	for _, name := range slices.Sorted(q.names()) {
		took := q.took[name]
		slices.Sort(took)
		fmt.Printf("  GET %-22s %4d times   median %6.1f ms   p99 %6.1f ms\n", name, len(took), ms(took[len(took)/2]), ms(took[min(len(took)-1, len(took)*99/100)]))
	}
	fmt.Printf("  events of the live view: %d\n", q.events)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// questions are what the console asks.
type questions struct {
	base   string
	agent  uuid.UUID
	took   map[string][]time.Duration
	events int
}

func newQuestions(base string, agent uuid.UUID) *questions {
	return &questions{base: base, agent: agent, took: map[string][]time.Duration{}}
}

func (q *questions) names() func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range q.took {
			if !yield(name) {
				return
			}
		}
	}
}

// ask asks one question after the other, four a second, and notes how long they take from a time on.
func (q *questions) ask(ctx context.Context, from time.Time) error {
	paths := map[string]string{"/agents": "/agents", "/agents/{agent}": "/agents/" + q.agent.String(), "/agents/{agent}/flows": "/agents/" + q.agent.String() + "/flows"}
	for {
		for name, path := range paths {
			began := time.Now()
			status, err := q.get(ctx, path)
			switch {
			case err != nil:
				return err // of the end, too
			case status == http.StatusOK && began.After(from):
				q.took[name] = append(q.took[name], time.Since(began))
			}
			select {
			case <-time.After(time.Second / 4):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func (q *questions) get(ctx context.Context, path string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, q.base+"api/v1"+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}
