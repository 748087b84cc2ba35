package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/internal/configfile"
)

// configEnv is the environment variable that names the configuration file.
const configEnv = "ROCELENS_CONFIG"

// databaseFlags say which ClickHouse is used.
type databaseFlags struct {
	Data                 string       `env:"ROCELENS_DATA" placeholder:"DIR" help:"Directory of captures, uploads and the embedded database. Default: $XDG_DATA_HOME/rocelens."`
	ClickHouse           string       `name:"clickhouse" env:"ROCELENS_CLICKHOUSE" placeholder:"ADDR" help:"Use this ClickHouse server (native protocol, HOST:PORT) and start none."`
	ClickHouseHTTP       string       `name:"clickhouse-http" env:"ROCELENS_CLICKHOUSE_HTTP" placeholder:"ADDR" help:"Its HTTP interface. Default: port 8123 of the same host, 8443 with TLS."`
	ClickHouseDatabase   string       `name:"clickhouse-database" env:"ROCELENS_CLICKHOUSE_DATABASE" default:"rocelens" help:"Its database (${default})."`
	ClickHouseUser       string       `name:"clickhouse-user" env:"ROCELENS_CLICKHOUSE_USER" default:"default" help:"User that may create and write the database (${default})."`
	ClickHousePassword   string       `name:"clickhouse-password" env:"ROCELENS_CLICKHOUSE_PASSWORD" placeholder:"TEXT" help:"Its password; better given by the environment or the file."`
	ClickHouseReader     string       `name:"clickhouse-reader" env:"ROCELENS_CLICKHOUSE_READER" placeholder:"USER" help:"Read-only user of the SQL page. Without one the service makes one of its own, if it may."`
	ClickHouseReaderPass string       `name:"clickhouse-reader-password" env:"ROCELENS_CLICKHOUSE_READER_PASSWORD" placeholder:"TEXT" help:"Its password."`
	ClickHouseTLS        bool         `name:"clickhouse-tls" env:"ROCELENS_CLICKHOUSE_TLS" help:"Speak TLS to it."`
	ClickHouseCA         optionalPath `name:"clickhouse-ca" env:"ROCELENS_CLICKHOUSE_CA" placeholder:"FILE" help:"Certificates that its own must come from, PEM."`
	Library              optionalPath `env:"ROCELENS_CLICKHOUSE_LIBRARY" placeholder:"FILE" help:"Library of the embedded database, libchdb.so."`
	Config               string       `placeholder:"FILE" help:"TOML file with any of these flags as keys; also $$ROCELENS_CONFIG."`
	LogLevel             string       `env:"ROCELENS_LOG_LEVEL" enum:"debug,info,warn,error" default:"info" help:"debug, info, warn or error (${default})."`
}

// BeforeResolve reads the configuration file.
func (f *databaseFlags) BeforeResolve(ctx *kong.Context) error {
	if err := configfile.Load(ctx, configEnv); err != nil {
		return &exitError{Code: exitFailure, Err: err}
	}
	return nil
}

func (f *databaseFlags) dataDir() (string, error) {
	if f.Data != "" {
		return f.Data, nil
	}
	if base := os.Getenv("XDG_DATA_HOME"); base != "" {
		return filepath.Join(base, "rocelens"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home directory to keep data in: name a directory with --data")
	}
	return filepath.Join(home, ".local", "share", "rocelens"), nil
}

func (f *databaseFlags) database() service.Database {
	return service.Database{
		Address: f.ClickHouse, HTTPAddress: f.ClickHouseHTTP, Name: f.ClickHouseDatabase, User: f.ClickHouseUser, Password: f.ClickHousePassword,
		Reader: f.ClickHouseReader, ReaderPassword: f.ClickHouseReaderPass,
		TLS: f.ClickHouseTLS, CAFile: string(f.ClickHouseCA), Library: string(f.Library),
	}
}

func (f *databaseFlags) logger(std *streams) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	return slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: level})), nil
}

type serveCommand struct {
	Listen       string        `env:"ROCELENS_LISTEN" default:"127.0.0.1:8790" placeholder:"ADDR" help:"Address and port to serve on (${default})."`
	AllowHost    []string      `env:"ROCELENS_ALLOW_HOST" placeholder:"NAME" help:"Names under which browsers reach the service, beside localhost and addresses."`
	MaxUpload    byteCount     `env:"ROCELENS_MAX_UPLOAD" default:"0" placeholder:"SIZE" help:"Largest file that is taken, for instance 20GiB. 0: what the disk holds."`
	MaxUnpacked  byteCount     `env:"ROCELENS_MAX_UNPACKED" default:"256GiB" placeholder:"SIZE" help:"What may come out of one compressed file (${default})."`
	DiskReserve  byteCount     `env:"ROCELENS_DISK_RESERVE" default:"256MiB" placeholder:"SIZE" help:"Uploads end when less than this would stay free (${default})."`
	Workers      int           `env:"ROCELENS_WORKERS" default:"0" placeholder:"N" help:"Captures analysed at the same time, beside one small one. 0: one per two CPUs."`
	UploadExpiry time.Duration `env:"ROCELENS_UPLOAD_EXPIRY" default:"24h" placeholder:"TIME" help:"When an upload that nobody continues is removed (${default})."`
	IngestToken  string        `env:"ROCELENS_INGEST_TOKEN" placeholder:"TEXT" help:"Take rows of agents that carry this token; better given by the environment or the next."`
	IngestFile   optionalPath  `name:"ingest-token-file" env:"ROCELENS_INGEST_TOKEN_FILE" placeholder:"FILE" help:"File with that token."`
	Check        bool          `help:"Check the configuration and stop."`

	databaseFlags `embed:""`
}

// Run serves until the context is done.
func (c *serveCommand) Run(ctx context.Context, std *streams) error {
	config, err := c.config(std)
	if err != nil {
		return err
	}
	if c.Check {
		if err := service.Check(config); err != nil {
			return err
		}
		_, err := fmt.Fprintln(std.Out, "the configuration is good")
		return err
	}
	return service.Run(ctx, config, func(address net.Addr) error {
		_, err := fmt.Fprintf(std.Out, "rocelens is ready at %s\n", url(address))
		return err
	})
}

func (c *serveCommand) config(std *streams) (service.Config, error) {
	logger, err := c.logger(std)
	if err != nil {
		return service.Config{}, err
	}
	data, err := c.dataDir()
	if err != nil {
		return service.Config{}, err
	}
	token, err := c.ingestToken()
	if err != nil {
		return service.Config{}, err
	}
	return service.Config{
		IngestToken: token,
		Version:     buildVersion().Version, Listen: c.Listen, DataDir: data, Database: c.database(),
		MaxUpload: int64(c.MaxUpload), MaxUnpacked: int64(c.MaxUnpacked), DiskReserve: int64(c.DiskReserve),
		Workers: c.Workers, UploadExpiry: c.UploadExpiry,
		AllowedHosts: c.AllowHost, Logger: logger,
	}, nil
}

// ingestToken is what agents carry; empty when none are served.
func (c *serveCommand) ingestToken() (string, error) {
	if c.IngestFile == "" {
		return c.IngestToken, nil
	}
	if c.IngestToken != "" {
		return "", errors.New("--ingest-token and --ingest-token-file are both given: leave one out")
	}
	text, err := os.ReadFile(string(c.IngestFile))
	if err != nil {
		return "", fmt.Errorf("--ingest-token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("--ingest-token-file %s is empty", c.IngestFile)
	}
	return token, nil
}

// url is the address that a browser on this machine can open.
func url(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return "http://" + host + ":" + port + "/"
}
