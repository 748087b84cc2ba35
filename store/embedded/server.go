package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// A database that dies is started again, with the same ports and passwords, but not for ever.
const (
	restartWindow = 10 * time.Minute
	restartDelay  = 200 * time.Millisecond // more at each
	restartPause  = time.Second            // at most
)

// Server is a running embedded database.
type Server struct {
	options         Options
	layout          layout
	servicePassword string
	readerPassword  string
	tcpPort         uint16
	httpPort        uint16
	engineHost      string // where the engine listens; clients come in by 127.0.0.1
	confined        bool

	serviceLock *os.File
	engineLock  *os.File

	mutex    sync.Mutex
	child    *child
	stopping bool
	restarts int

	done chan struct{}
	err  error // valid after done is closed
}

// Start makes the data directory ready, starts the database and returns once it listens. Its errors are
// sentences for people. ctx bounds the start alone.
func Start(ctx context.Context, options Options) (*Server, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		options:         options,
		layout:          layout{root: options.Data},
		servicePassword: randomPassword(),
		readerPassword:  randomPassword(),
		engineHost:      randomLoopback(),
		done:            make(chan struct{}),
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	child, err := s.launch(ctx, options.TCPPort, options.HTTPPort)
	if err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	s.child, s.tcpPort, s.httpPort = child, child.tcpPort, child.httpPort
	if s.confined, err = s.probe(ctx); err != nil {
		return nil, errors.Join(err, child.stop(ctx), s.unlock())
	}
	if !s.confined {
		options.Logger.Warn("the database lets its reader read files")
	}
	go s.supervise(context.WithoutCancel(ctx), child)
	return s, nil
}

func (s *Server) prepare(ctx context.Context) error {
	if err := s.layout.make(); err != nil {
		return err
	}
	if err := checkSpace(s.options.Data, s.options.MinFree); err != nil {
		return err
	}
	var err error
	if s.serviceLock, err = acquire(ctx, s.layout.serviceLock(), 0); err != nil {
		return fmt.Errorf("%w: %s", err, s.options.Data)
	}
	if s.engineLock, err = acquire(ctx, s.layout.engineLock(), lockTimeout); err != nil {
		return fmt.Errorf("%w: the database of an earlier run in %s does not end", err, s.options.Data)
	}
	return nil
}

// writeConfiguration writes what a new child reads.
func (s *Server) writeConfiguration() error {
	if err := s.layout.writeConfig(s.engineHost); err != nil {
		return err
	}
	return s.layout.writeUsers(s.options.Database, s.options.Limits, s.servicePassword, s.readerPassword)
}

func (s *Server) unlock() error {
	var err error
	for _, lock := range []*os.File{s.engineLock, s.serviceLock} {
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
	}
	return err
}

// supervise waits for the child and starts another when it ends unasked.
func (s *Server) supervise(ctx context.Context, running *child) {
	defer close(s.done)
	var deaths []time.Time
	for {
		cause := running.wait()
		if s.isStopping() {
			return
		}
		now := time.Now()
		deaths = append(deaths, now)
		for now.Sub(deaths[0]) > restartWindow {
			deaths = deaths[1:]
		}
		s.options.Logger.Error("the database ended unexpectedly", slog.Any("cause", cause),
			slog.String("engine", s.layout.fatalSince(running.errorLog)), slog.Int("deaths", len(deaths)))
		if len(deaths) > s.options.Restarts {
			s.err = fmt.Errorf("the database ended %d times within %s, the last time because: %w", len(deaths), restartWindow, cause)
			return
		}
		next, err := s.restart(ctx, min(time.Duration(len(deaths)-1)*restartDelay, restartPause))
		if err != nil {
			s.err = fmt.Errorf("the database ended (%w) and cannot be started again: %w", cause, err)
			return
		}
		if next == nil {
			return
		}
		running = next
	}
}

// restart starts another child on the same ports. It returns nil when the server is being stopped.
func (s *Server) restart(ctx context.Context, delay time.Duration) (*child, error) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	<-timer.C
	next, err := s.launch(ctx, s.tcpPort, s.httpPort)
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	stopping := s.stopping
	if !stopping {
		s.child = next
		s.restarts++
	}
	s.mutex.Unlock()
	if stopping {
		return nil, next.stop(ctx)
	}
	return next, nil
}

func (s *Server) isStopping() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.stopping
}

// Stop ends the database in order and returns when it is gone. When ctx ends first the process is killed.
func (s *Server) Stop(ctx context.Context) error {
	s.mutex.Lock()
	first := !s.stopping
	s.stopping = true
	running := s.child
	s.mutex.Unlock()
	if !first {
		<-s.done
		return nil
	}
	err := running.stop(ctx)
	<-s.done
	return errors.Join(err, s.unlock())
}

// Done is closed when the database has ended for good: after Stop, or because it kept dying.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says why the database ended, nil after Stop. It is valid once Done is closed.
func (s *Server) Err() error { return s.err }

// Restarts is how often the database died and was started again.
func (s *Server) Restarts() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.restarts
}

// Address is host and port of the native protocol; it stays the same over restarts.
func (s *Server) Address() string { return address(s.tcpPort) }

// HTTPAddress is host and port of the HTTP interface; it stays the same over restarts.
func (s *Server) HTTPAddress() string { return address(s.httpPort) }

// Credentials are user and password of the service.
func (s *Server) Credentials() (user, password string) { return ServiceUser, s.servicePassword }

// ReaderCredentials are user and password of the user that may only read.
func (s *Server) ReaderCredentials() (user, password string) { return ReaderUser, s.readerPassword }

// Confined tells whether the reader was refused every file that it tried when the database started. When it does not
// hold, SQL must not be taken from others: the engine's function file() asks for no privilege.
func (s *Server) Confined() bool { return s.confined }

// ProcessID is the database's process at this moment.
func (s *Server) ProcessID() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.child.command.Process.Pid
}

func address(port uint16) string {
	return net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(port), 10))
}
