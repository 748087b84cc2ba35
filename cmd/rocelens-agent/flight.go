package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/flight"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/ship"
	"github.com/rocelens/rocelens/store/shipping"
)

// flightFlags say what the flight recorder keeps, and when it writes.
type flightFlags struct {
	RecorderMiB    int           `name:"recorder" default:"0" env:"ROCELENS_AGENT_RECORDER" help:"MiB of memory of each interface for the headers of the latest packets of RDMA; 0: there is no flight recorder (${default})."`
	RecorderBytes  int           `name:"recorder-bytes" default:"192" env:"ROCELENS_AGENT_RECORDER_BYTES" help:"Bytes that it keeps of a packet (${default})."`
	RecorderBefore time.Duration `name:"recorder-before" default:"10s" env:"ROCELENS_AGENT_RECORDER_BEFORE" help:"A record has what came so long before an event, at most, (${default})"`
	RecorderAfter  time.Duration `name:"recorder-after" default:"5s" env:"ROCELENS_AGENT_RECORDER_AFTER" help:"and what came so long behind it (${default})."`
	RecorderEvery  time.Duration `name:"recorder-every" default:"30s" env:"ROCELENS_AGENT_RECORDER_EVERY" help:"An interface begins a record at most so often (${default})."`
	RecorderWindow time.Duration `name:"recorder-window" default:"10m" env:"ROCELENS_AGENT_RECORDER_WINDOW" help:"What happens again to a connection within this time is the same event, and is recorded once (${default})."`
	RecordsMiB     int           `name:"records" default:"256" env:"ROCELENS_AGENT_RECORDS" help:"MiB that records may take in the state directory (${default}). The oldest make room."`
	Triggers       []string      `name:"trigger" env:"ROCELENS_AGENT_TRIGGER" placeholder:"RULE" help:"What is an event: divergence=SEVERITY, rule=ID, naks=N, retransmitted=N%, ce=N%, throughput=N%, path-failure, none. Several may be given. Default: divergence=error, naks=16, retransmitted=5%, path-failure."`
	Upload         string        `env:"ROCELENS_AGENT_UPLOAD" placeholder:"URL" help:"Upload records to this server, such as http://rocelens.example.net:8790."`
	TriggerToken   string        `name:"trigger-token" env:"ROCELENS_AGENT_TRIGGER_TOKEN" placeholder:"TEXT" help:"POST /trigger at --listen needs this bearer token; without one it is taken from this machine only."`
}

// Bounds of what may be asked for.
const (
	maxRecorder                    = 1 << 14 // MiB
	minRecorderCut, maxRecorderCut = 64, 9216
	minRecorderTime                = 100 * time.Millisecond
	maxRecorderTime                = time.Hour
	maxRecorderWindow              = 24 * time.Hour
)

func (f *flightFlags) check(replay bool) error {
	within := func(d, most time.Duration) bool { return d >= minRecorderTime && d <= most }
	switch {
	case f.RecorderMiB < 0 || f.RecorderMiB == 1 || f.RecorderMiB > maxRecorder:
		return fmt.Errorf("--recorder must be 0, or between 2 and %d", maxRecorder)
	case f.RecorderBytes < minRecorderCut || f.RecorderBytes > maxRecorderCut:
		return fmt.Errorf("--recorder-bytes must be between %d and %d", minRecorderCut, maxRecorderCut)
	case !within(f.RecorderBefore, maxRecorderTime) || !within(f.RecorderAfter, maxRecorderTime) || !within(f.RecorderEvery, maxRecorderTime):
		return fmt.Errorf("--recorder-before, --recorder-after and --recorder-every must be between %s and %s", minRecorderTime, maxRecorderTime)
	case !within(f.RecorderWindow, maxRecorderWindow):
		return fmt.Errorf("--recorder-window must be between %s and %s", minRecorderTime, maxRecorderWindow)
	case f.RecordsMiB < 1 || f.RecordsMiB > maxSpool:
		return fmt.Errorf("--records must be between 1 and %d", maxSpool)
	case f.RecorderMiB == 0 && (len(f.Triggers) > 0 || f.Upload != "" || f.TriggerToken != ""):
		return errors.New("--trigger, --trigger-token and --upload are of no use without --recorder")
	}
	rules, err := flight.ParseRules(f.Triggers)
	if err != nil {
		return err
	}
	if rules.NeedReplay() && !replay {
		return errors.New("--trigger divergence and rule are of no use without --replay")
	}
	if f.Upload == "" {
		return nil
	}
	if _, err := flight.NewUploader(f.Upload); err != nil {
		return fmt.Errorf("--upload: %w", err)
	}
	return nil
}

// hub opens the flight recorder, nil when none is wanted. agent may be nil: then only the log tells of events.
func (c *runCommand) hub(agent *ship.Agent, logger *slog.Logger) (*flight.Hub, error) {
	if c.RecorderMiB == 0 {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	words := c.Triggers
	if len(words) == 0 {
		words = flight.DefaultRules
	}
	rules, err := flight.ParseRules(words)
	if err != nil {
		return nil, err
	}
	o := flight.Options{
		Directory: filepath.Join(c.State, "records"), MaxBytes: int64(c.RecordsMiB) << 20,
		Memory: c.RecorderMiB << 20, Cut: c.RecorderBytes, Before: c.RecorderBefore, After: c.RecorderAfter,
		Every: c.RecorderEvery, Window: c.RecorderWindow, Rules: rules, Host: c.Host, Logger: logger,
	}
	if o.Host == "" {
		if o.Host, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("ask for the name of the host: %w", err)
		}
	}
	if c.Upload != "" {
		if o.Upload, err = flight.NewUploader(c.Upload); err != nil {
			return nil, err
		}
	}
	if agent != nil {
		o.Row = func(r *flight.Row) {
			t := shipping.AgentTrigger{
				Event: r.ID, Time: r.Time, Kind: string(r.Kind), Rule: r.Rule, Connection: r.Connection, Sentence: r.Sentence,
				Fate: int8(r.Fate), Why: r.Why, Record: r.Record, Packets: r.Packets, Capture: r.Capture,
			}
			if err := agent.Trigger(&t, r.Interface, r.At); err != nil {
				logger.Warn("what has become of an event cannot be told", slog.Any("cause", err))
			}
		}
	}
	hub, err := flight.Open(o)
	if err == nil && agent != nil {
		agent.TellTriggers(func() ship.Triggers {
			s := hub.State()
			return ship.Triggers{Events: s.Events, Last: s.Last, LastEvent: s.LastEvent, Waiting: uint64(s.Waiting), Lost: s.Lost, Problem: s.Problem}
		})
	}
	return hub, err
}

// signals lets SIGUSR1 trigger a record, until the returned function is called.
func signals(hub *flight.Hub, logger *slog.Logger) (stop func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			if _, err := hub.Demand(flight.KindSignal, "The signal SIGUSR1 asked for a record."); err != nil {
				logger.Warn("a record was asked for and is not made", slog.Any("cause", err))
			}
		}
	}()
	return func() {
		signal.Stop(asked)
		close(asked)
	}
}

// flightPage is what --listen serves of the flight recorder. It implements prometheus.Collector.
type flightPage struct {
	hub   *flight.Hub
	token string
	every time.Duration
}

// page is nil without a flight recorder.
func (c *runCommand) page(hub *flight.Hub) *flightPage {
	if hub == nil {
		return nil
	}
	return &flightPage{hub, c.TriggerToken, c.RecorderEvery}
}

var (
	triggersDesc = described("triggers_total", "Events that the flight recorder found, each once.")
	recordsDesc  = described("records_waiting", "Records on disk that are not uploaded.")
	lostDesc     = described("lost_records_total", "Records that could not be kept.")
)

// Describe implements prometheus.Collector.
func (*flightPage) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{triggersDesc, recordsDesc, lostDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (f *flightPage) Collect(out chan<- prometheus.Metric) {
	s := f.hub.State()
	out <- prometheus.MustNewConstMetric(triggersDesc, prometheus.CounterValue, float64(s.Events))
	out <- prometheus.MustNewConstMetric(recordsDesc, prometheus.GaugeValue, float64(s.Waiting))
	out <- prometheus.MustNewConstMetric(lostDesc, prometheus.CounterValue, float64(s.Lost))
}

// maxReason is how many bytes of a reason for a record are kept.
const maxReason = 200

// handler answers POST /trigger. The body, if there is one, says why.
func (f *flightPage) handler() http.Handler {
	answer := func(w http.ResponseWriter, status int, what any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(what) // who has gone away needs no answer
	}
	type refusal struct {
		Problem string `json:"problem"`
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !permitted(r, f.token) {
			answer(w, http.StatusForbidden, refusal{"a record is made for requests from this machine, or with the bearer token of --trigger-token"})
			return
		}
		reason := make([]byte, maxReason)
		n, _ := r.Body.Read(reason) // a reason that does not arrive is none
		sentence := "A request asked for a record."
		if why := strings.Join(strings.Fields(strings.ToValidUTF8(string(reason[:n]), "")), " "); why != "" {
			sentence = "A request asked for a record: " + strconv.Quote(why) + "."
		}
		events, err := f.hub.Demand(flight.KindRequest, sentence)
		if err != nil {
			w.Header().Set("Retry-After", strconv.Itoa(int(max(1, f.every.Seconds()))))
			answer(w, http.StatusTooManyRequests, refusal{err.Error()})
			return
		}
		answer(w, http.StatusAccepted, map[string]any{"events": events})
	})
	// A page in a browser on this machine is on this machine, too.
	return http.NewCrossOriginProtection().Handler(handler)
}

// permitted tells whether a request may trigger a record. A token, where there is one, is what counts.
func permitted(r *http.Request, token string) bool {
	if token != "" {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return ok && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
	}
	local := func(hostport string) bool {
		host, _, err := net.SplitHostPort(hostport)
		if err != nil {
			host = hostport
		}
		address, err := netip.ParseAddr(strings.Trim(host, "[]"))
		return err == nil && address.Unmap().IsLoopback() || host == "localhost"
	}
	return local(r.RemoteAddr) && local(r.Host)
}

// recorded runs the flight recorder around what watches do.
func (w *watches) recorded(ctx context.Context) (stop func()) {
	if w.hub == nil {
		return func() {}
	}
	w.hub.Run(context.WithoutCancel(ctx))
	quiet := signals(w.hub, w.logger)
	w.logger.Info("the flight recorder is ready")
	return func() {
		quiet()
		w.hub.Close()
	}
}
