package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/embedded"
)

// database is the open store and, when it was started here, the process behind it.
type database struct {
	store    *store.Store
	ingest   *store.Ingest // nil: rows of agents are not taken
	embedded *embedded.Server
}

// options are those of a ClickHouse server of the user's own.
func (d *Database) options() (store.Config, error) {
	host, ok := hostOf(d.Address)
	if !ok {
		return store.Config{}, fmt.Errorf("--clickhouse %s: write it as HOST:PORT, for instance 127.0.0.1:9000", d.Address)
	}
	config := store.Config{
		Address: d.Address, HTTPAddress: d.HTTPAddress, Database: d.Name,
		Account: access.Account{User: d.User, Password: d.Password},
		Reader:  access.Account{User: d.Reader, Password: d.ReaderPassword},
	}
	if d.HTTPAddress != "" {
		if _, ok := hostOf(d.HTTPAddress); !ok {
			return store.Config{}, fmt.Errorf("--clickhouse-http %s: write it as HOST:PORT, for instance 127.0.0.1:8123", d.HTTPAddress)
		}
	} else {
		port := "8123"
		if d.TLS {
			port = "8443"
		}
		config.HTTPAddress = net.JoinHostPort(host, port)
	}
	if !d.TLS {
		return config, nil
	}
	config.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if d.CAFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(d.CAFile)
	if err != nil {
		return config, fmt.Errorf("--clickhouse-ca: %w", err)
	}
	config.TLS.RootCAs = x509.NewCertPool()
	if !config.TLS.RootCAs.AppendCertsFromPEM(pem) {
		return config, fmt.Errorf("--clickhouse-ca %s: there is no PEM certificate in it", d.CAFile)
	}
	return config, nil
}

// hostOf is the host of HOST:PORT, if it is that.
func hostOf(address string) (string, bool) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return host, err == nil && number > 0
}

// openDatabase starts a database if none is given, connects to it and brings its tables up to date.
func openDatabase(ctx context.Context, config *Config, dir string) (*database, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	out := &database{}
	var options store.Config
	var err error
	if config.Database.Address != "" {
		if options, err = config.Database.options(); err != nil {
			return nil, err
		}
	} else {
		if out.embedded, err = startEmbedded(ctx, config, dir); err != nil {
			return nil, err
		}
		options = embeddedOptions(out.embedded, config.Database.Name)
	}
	options.Logger = config.Logger
	if out.store, err = store.Open(ctx, options); err != nil {
		if out.embedded == nil {
			err = config.Database.connectError(ctx, err)
		}
		return nil, errors.Join(err, out.close(ctx))
	}
	if config.IngestToken != "" {
		if out.ingest, err = out.store.NewIngest(ctx); err != nil {
			return nil, errors.Join(err, out.close(ctx))
		}
	}
	return out, nil
}

func embeddedOptions(e *embedded.Server, name string) store.Config {
	config := store.Config{Address: e.Address(), HTTPAddress: e.HTTPAddress(), Database: name}
	config.Account.User, config.Account.Password = e.Credentials()
	config.Reader.User, config.Reader.Password = e.ReaderCredentials()
	if !e.Confined() {
		config.QueryDisabled = "SQL is switched off: this system does not let the embedded database be kept to its own files. Use a ClickHouse server with --clickhouse."
	}
	return config
}

// close disconnects and stops what was started.
func (d *database) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var err error
	if d.ingest != nil {
		d.ingest.Close()
	}
	if d.store != nil {
		err = d.store.Close()
	}
	if d.embedded != nil {
		err = errors.Join(err, d.embedded.Stop(ctx))
	}
	return err
}

// fill connects the server to the database.
func (d *database) fill(o *server.Options, config *Config) {
	o.Database = d.store
	o.Analyzer = &analyzer{store: d.store}
	o.Captures = &captures{store: d.store, version: config.Version}
	o.Eraser = d.store
	o.Flows = &flows{store: d.store}
	o.Paths = &paths{store: d.store}
	o.Replays = &replays{store: d.store}
	o.Proofs = &proofs{store: d.store}
	o.Packets = &packets{store: d.store}
	o.Agents = &agents{store: d.store}
	o.AgentHistory = &history{store: d.store}
	o.AgentFindings = &agentFindings{store: d.store}
	o.Merger = merger{}
	o.Differ = &differ{store: d.store}
	if d.ingest != nil {
		o.Ingest, o.IngestToken = ingest{d.ingest}, config.IngestToken
	}
	if err := d.store.QueryDisabled(); err != nil {
		o.QueriesOff = err.Error()
	} else {
		o.Queries = &queries{store: d.store}
	}
}

// Migrate brings the tables up to date and says so in one sentence.
func Migrate(ctx context.Context, config Config) (_ string, err error) {
	dir := config.DataDir
	if config.Database.Address == "" {
		owned, err := openDataDir(config.DataDir)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, owned.close()) }()
		dir = owned.path
	}
	db, err := openDatabase(ctx, &config, dir)
	if err != nil {
		return "", err
	}
	version, err := db.store.Version(ctx)
	if err = errors.Join(err, db.close(ctx)); err != nil {
		return "", err
	}
	return "the tables are up to date on ClickHouse " + version, nil
}
