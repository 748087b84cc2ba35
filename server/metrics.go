package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rocelens/rocelens/server/api"
)

// metrics are what /metrics shows.
type metrics struct {
	registry    *prometheus.Registry
	requests    *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	captures    *prometheus.GaugeVec
	analyses    *prometheus.CounterVec
	queue       prometheus.Gauge
	running     prometheus.Gauge
	packets     prometheus.Counter
	uploadBytes prometheus.Counter
	ingestBytes prometheus.Counter
}

var captureStatuses = []api.CaptureStatus{
	api.CaptureStatusQueued, api.CaptureStatusAnalyzing, api.CaptureStatusDone,
	api.CaptureStatusPartial, api.CaptureStatusFailed, api.CaptureStatusCancelled,
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rocelens_http_requests_total", Help: "Requests answered.",
		}, []string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rocelens_http_request_duration_seconds", Help: "Time from a request's header to the end of its answer.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10, 60, 600},
		}, []string{"route"}),
		captures: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rocelens_captures", Help: "Captures by status.",
		}, []string{"status"}),
		analyses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rocelens_analyses_total", Help: "Analyses that ended, by the status they left.",
		}, []string{"status"}),
		queue:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "rocelens_analyses_queued", Help: "Analyses that wait for a worker."}),
		running:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "rocelens_analyses_running", Help: "Analyses under way."}),
		packets:     prometheus.NewCounter(prometheus.CounterOpts{Name: "rocelens_analyzed_packets_total", Help: "Packets of finished analyses."}),
		uploadBytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "rocelens_upload_bytes_total", Help: "Bytes of captures received."}),
		ingestBytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "rocelens_ingest_bytes_total", Help: "Bytes of rows that agents sent, compressed, with those sent again."}),
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.seconds, m.captures, m.analyses, m.queue, m.running, m.packets, m.uploadBytes,
	)
	for _, status := range captureStatuses {
		m.captures.WithLabelValues(string(status)).Set(0)
	}
	return m
}

// watch shows what becomes of the rows that agents send. What was refused is among the requests, by code.
func (m *metrics) watch(i Ingest) {
	counted := func(name, help string, read func(IngestState) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(read(i.State())) })
	}
	m.registry.MustRegister(
		m.ingestBytes,
		counted("rocelens_ingest_batches_total", "Batches of agents that are stored, each time they came.", func(s IngestState) uint64 { return s.Batches }),
		counted("rocelens_ingest_rows_total", "Rows of those batches.", func(s IngestState) uint64 { return s.Rows }),
		counted("rocelens_ingest_inserts_total", "Inserts that took them, each with batches of many agents.", func(s IngestState) uint64 { return s.Inserts }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "rocelens_ingest_batches_waiting", Help: "Batches of agents that wait for the database."},
			func() float64 { return float64(i.State().Waiting) }),
	)
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *metrics) observe(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
