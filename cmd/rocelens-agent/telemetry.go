package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/ship"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/flow"
)

// gauges keeps the account of each interface as of its latest interval. It implements watch.Sink and
// prometheus.Collector.
type gauges struct {
	mutex  sync.Mutex
	latest map[string]watch.Interval
}

func newGauges() *gauges { return &gauges{latest: map[string]watch.Interval{}} }

// Flow implements watch.Sink.
func (*gauges) Flow(*flow.Record) {}

// End implements watch.Sink.
func (g *gauges) End(i *watch.Interval) error {
	kept := *i
	kept.Total.Drops = maps.Clone(i.Total.Drops)
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.latest[i.Interface] = kept
	return nil
}

const namespace = "rocelens_agent_"

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+name, help, labels, nil)
}

var (
	upDesc       = described("interface_up", "1 while the interface can be captured on.", "interface")
	packetsDesc  = described("packets_total", "Packets that came in at a stage, or went on.", "interface", "stage")
	bytesDesc    = described("bytes_total", "Bytes on the wire of the packets seen, of all and of RDMA.", "interface", "of")
	dropsDesc    = described("dropped_packets_total", "Packets that did not get on, by stage and reason.", "interface", "reason")
	spoolDesc    = described("spool_rows", "Rows that wait on disk.")
	spoolByte    = described("spool_bytes", "What they take.")
	lagDesc      = described("spool_lag_seconds", "Age of the oldest of them.")
	shippedDesc  = described("shipped_rows_total", "Rows that the database confirmed.")
	refusedDesc  = described("refused_rows_total", "Rows that could not be stored.")
	failuresDesc = described("ship_failures_total", "Tries to reach the database, or to store there, that failed.")
)

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{upDesc, packetsDesc, bytesDesc, dropsDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for name, i := range g.latest {
		up := 0.0
		if i.Up {
			up = 1
		}
		out <- prometheus.MustNewConstMetric(upDesc, prometheus.GaugeValue, up, name)
		t := &i.Total
		for stage, n := range map[string]uint64{
			"source in": t.SourceIn, "source out": t.SourceOut, "decode out": t.DecodeOut, "track out": t.TrackOut,
		} {
			out <- prometheus.MustNewConstMetric(packetsDesc, prometheus.CounterValue, float64(n), name, stage)
		}
		out <- prometheus.MustNewConstMetric(bytesDesc, prometheus.CounterValue, float64(t.Bytes), name, "all")
		out <- prometheus.MustNewConstMetric(bytesDesc, prometheus.CounterValue, float64(t.RDMABytes), name, "RDMA")
		for reason, n := range t.Drops {
			out <- prometheus.MustNewConstMetric(dropsDesc, prometheus.CounterValue, float64(n), name, reason)
		}
	}
}

// shipments shows how shipping goes. It implements prometheus.Collector.
type shipments struct{ agent *ship.Agent }

// Describe implements prometheus.Collector.
func (shipments) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{spoolDesc, spoolByte, lagDesc, shippedDesc, refusedDesc, failuresDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s shipments) Collect(out chan<- prometheus.Metric) {
	h := s.agent.Heartbeat(time.Now())
	gauge := func(d *prometheus.Desc, v float64) { out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	counter := func(d *prometheus.Desc, n uint64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
	gauge(spoolDesc, float64(h.SpoolRows))
	gauge(spoolByte, float64(h.SpoolBytes))
	gauge(lagDesc, h.Lag.Seconds())
	counter(shippedDesc, h.ShippedRows)
	counter(refusedDesc, h.RefusedRows)
	counter(failuresDesc, h.Failures)
}

// telemetry serves /metrics and /healthz.
type telemetry struct{ server *http.Server }

// health is the answer of /healthz.
type health struct {
	Status  string `json:"status"` // "ok" or "problem"
	Problem string `json:"problem,omitempty"`
}

// listen begins to serve. Agent and recorder may be nil.
func listen(ctx context.Context, address string, agent *ship.Agent, all *gauges, recorder *flightPage, logger *slog.Logger) (*telemetry, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(all, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if agent != nil {
		registry.MustRegister(shipments{agent})
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		h := health{Status: "ok"}
		if agent != nil {
			h.Problem = agent.Problem(time.Now())
		}
		w.Header().Set("Content-Type", "application/json")
		if h.Problem != "" {
			h.Status = "problem"
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(h) // who has gone away needs no answer
	})
	if recorder != nil {
		registry.MustRegister(recorder)
		mux.Handle("POST /trigger", recorder.handler())
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	logger.Info("telemetry is served", slog.String("address", listener.Addr().String()))
	t := &telemetry{&http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	go func() {
		if err := t.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // the listener is ours, and only stop closes it
		}
	}()
	return t, nil
}

func (t *telemetry) stop() {
	_ = t.server.Close() // nothing of it has to arrive
}
