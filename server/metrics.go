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

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *metrics) observe(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
