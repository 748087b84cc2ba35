package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/embedded"
	"github.com/rocelens/rocelens/web"
)

// minToken is the least length of a token that cannot be guessed.
const minToken = 16

const (
	startTimeout = 2 * time.Minute // of the database, which may have much to read after a crash
	stopTimeout  = 30 * time.Second
)

// Check looks for what would keep a service from starting, and starts nothing.
func Check(config Config) error {
	if _, _, err := net.SplitHostPort(config.Listen); err != nil {
		return fmt.Errorf("--listen %s: write it as HOST:PORT, for instance 127.0.0.1:8790", config.Listen)
	}
	if config.Workers < 0 {
		return fmt.Errorf("--workers %d: write 1 or more, or 0 for one per two CPUs", config.Workers)
	}
	if config.UploadExpiry < 0 {
		return fmt.Errorf("--upload-expiry %s: write a time that is to come, for instance 24h", config.UploadExpiry)
	}
	if n := len(config.IngestToken); n > 0 && n < minToken {
		return fmt.Errorf("the token for agents has %d characters: take %d or more, for instance of openssl rand -hex 32", n, minToken)
	}
	if name := config.Database.Name; name != "" && !access.ValidDatabase(name) {
		return fmt.Errorf("--clickhouse-database %s: write letters, digits and underscores", name)
	}
	if config.Database.Address != "" {
		_, err := config.Database.options()
		return err
	}
	if _, err := embedded.FindLibrary(config.Database.Library); err != nil {
		return err
	}
	_, err := embedded.FindProgram("")
	return err
}

// Run serves until ctx is done, and returns when everything that it started has ended. ready is called once, with the
// address that is served.
func Run(ctx context.Context, config Config, ready func(net.Addr) error) (err error) {
	if err := Check(config); err != nil {
		return err
	}
	dir, err := openDataDir(config.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	listener, err := listen(ctx, config.Listen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ignoreClosed(listener.Close())) }()
	db, err := openDatabase(ctx, &config, dir.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close(context.WithoutCancel(ctx))) }()
	return serve(ctx, &config, dir.path, db, listener, ready)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func serve(ctx context.Context, config *Config, dir string, db *database, listener net.Listener, ready func(net.Addr) error) error {
	files, built := web.FS()
	options := server.Options{
		Version: config.Version, DataDir: dir, MaxUpload: config.MaxUpload, MaxUnpacked: config.MaxUnpacked,
		Workers: config.Workers, UploadExpiry: config.UploadExpiry, DiskReserve: config.DiskReserve, AllowedHosts: config.AllowedHosts, Logger: config.Logger,
		Embedded: db.embedded != nil, Unpacker: unpacker{},
	}
	if built {
		options.Console = files
	} else {
		config.Logger.Warn("this program was built without the web console; build it with \"make\"")
	}
	db.fill(&options, config)
	s, err := server.New(ctx, options)
	if err != nil {
		return err
	}
	defer s.Close()
	serving, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if db.embedded != nil {
		// A database that is gone for good ends the service, rather than have it answer everything with errors.
		watched := make(chan struct{})
		defer close(watched)
		go func() {
			select {
			case <-db.embedded.Done():
				fail(db.embedded.Err())
			case <-watched:
			}
		}()
	}
	if err := ready(listener.Addr()); err != nil {
		return fmt.Errorf("say that the service is ready: %w", err)
	}
	err = s.Serve(serving, listener)
	if ctx.Err() == nil { // nobody asked for the end
		err = errors.Join(context.Cause(serving), err)
	}
	config.Logger.LogAttrs(ctx, slog.LevelInfo, "stopped serving")
	return err
}

// startEmbedded starts the database beside the service.
func startEmbedded(ctx context.Context, config *Config, dir string) (*embedded.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return embedded.Start(ctx, embedded.Options{
		Data: filepath.Join(dir, "clickhouse"), Library: config.Database.Library,
		Database: config.Database.Name, Logger: config.Logger,
	})
}
