package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/rocelens/rocelens/server/api"
)

// Options are what a Server is made of. Fields without a stated default are required.
type Options struct {
	Version      string
	DataDir      string        // of uploads and captures; must exist and belong to this process alone
	MaxUpload    int64         // bytes; 0: as much as the disk holds
	MaxUnpacked  int64         // bytes that may come out of one compressed file; 0: 256 GiB
	DiskReserve  int64         // bytes that stay free; 0: 256 MiB
	Workers      int           // analyses at a time, beside one of a small capture; 0: one per two CPUs
	UploadExpiry time.Duration // of uploads that nobody continues; 0: 24 hours
	AllowedHosts []string      // names, beside IP addresses and localhost, under which browsers reach the service
	Console      fs.FS         // the built web console; nil: not built
	Logger       *slog.Logger
	Embedded     bool // the database was started by this process

	Captures      Captures
	Eraser        Eraser
	Flows         Flows
	Paths         Paths
	Replays       Replays
	Proofs        Proofs
	Packets       Packets
	Agents        Agents
	AgentHistory  AgentHistory
	AgentFindings AgentFindings
	Ingest        Ingest  // nil: rows of agents are not taken
	Queries       Queries // nil: switched off, for QueriesOff
	Database      Database
	Analyzer      Analyzer
	Unpacker      Unpacker
	Merger        Merger
	Differ        Differ

	IngestToken string // that agents carry; required with Ingest
	QueriesOff  string // one sentence on why queries are switched off
}

const (
	defaultMaxUnpacked  = 256 << 30
	defaultUploadExpiry = 24 * time.Hour
)

// Server is the HTTP service. Make it with New, run it with Serve, end it with Close.
type Server struct {
	opt     Options
	log     *slog.Logger
	metrics *metrics
	library *library
	live    *live
	merges  *merges
	ingest  *ingestDoor // nil without Ingest
	uploads *uploads
	handler http.Handler
	started time.Time

	stop    context.CancelCauseFunc
	running sync.WaitGroup
}

// New makes the directories, takes up what an earlier run left undone, and starts the analyses of what is queued.
func New(ctx context.Context, opt Options) (*Server, error) {
	opt.setDefaults()
	for _, dir := range []string{opt.uploadDir(), opt.captureDir()} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
	}
	s := &Server{opt: opt, log: opt.Logger, started: time.Now()}
	s.metrics = newMetrics()
	s.library = newLibrary(&s.opt, s.metrics)
	s.live = newLive(opt.Agents, s.log)
	s.merges = newMerges(&s.opt, s.library)
	if opt.Ingest != nil {
		s.ingest = newIngestDoor(opt.IngestToken)
		s.metrics.watch(opt.Ingest)
	}
	var err error
	if s.uploads, err = newUploads(s); err != nil {
		return nil, err
	}
	if s.handler, err = s.routes(); err != nil {
		return nil, err
	}
	if err := s.library.recover(ctx); err != nil {
		return nil, err
	}
	s.uploads.recover(ctx)

	background, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	s.stop = stop
	s.library.start(background)
	s.merges.start(background)
	s.running.Go(func() { s.uploads.expire(background) })
	s.running.Go(func() { s.live.run(background) })
	return s, nil
}

func (o *Options) setDefaults() {
	if o.MaxUnpacked <= 0 {
		o.MaxUnpacked = defaultMaxUnpacked
	}
	if o.DiskReserve <= 0 {
		o.DiskReserve = minDiskReserve
	}
	if o.Workers <= 0 {
		o.Workers = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if o.UploadExpiry <= 0 {
		o.UploadExpiry = defaultUploadExpiry
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) uploadDir() string  { return filepath.Join(o.DataDir, "uploads") }
func (o *Options) captureDir() string { return filepath.Join(o.DataDir, "captures") }

// Handler answers requests, for callers that have a listener of their own.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers requests on the listener until ctx is done, then lets those under way finish for a short while.
// It closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	// Requests hear of the end by way of their context: uploads then keep what has arrived, and queries are cancelled.
	requests, endRequests := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endRequests(nil)
	web := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	shut := make(chan error, 1)
	go func() { shut <- web.Shutdown(grace) }()
	s.uploads.interrupt()
	endRequests(errStopping)
	err := <-shut
	if err != nil {
		err = errors.Join(fmt.Errorf("requests did not end within %s: %w", shutdownTimeout, err), web.Close())
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Close stops the analyses, which are taken up again by the next New, and waits for all goroutines.
func (s *Server) Close() {
	s.stop(errStopping)
	s.library.wait()
	s.merges.wait()
	s.running.Wait()
}

// errStopping is the cause of cancellations when the service ends.
var errStopping = errors.New("the service is stopping")

// service describes the service to its users.
func (s *Server) service(ctx context.Context) (api.Service, error) {
	version, err := s.opt.Database.Version(ctx)
	if err != nil {
		return api.Service{}, &problem{kind: kindUnavailable, detail: "The database does not answer.", cause: err}
	}
	free, err := freeBytes(s.opt.DataDir)
	if err != nil {
		return api.Service{}, err
	}
	out := api.Service{
		Version: s.opt.Version, ClickhouseVersion: version, Embedded: s.opt.Embedded,
		QueryEnabled: s.opt.Queries != nil, DiskFreeBytes: free,
	}
	if s.opt.MaxUpload > 0 {
		out.MaxUploadBytes = &s.opt.MaxUpload
	}
	if s.opt.Queries == nil {
		out.QueryDisabledReason = &s.opt.QueriesOff
	}
	return out, nil
}
