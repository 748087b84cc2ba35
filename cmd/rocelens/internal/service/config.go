// Package service wires the database, the analysis and the HTTP server together into what "rocelens serve" runs.
package service

import (
	"log/slog"
	"time"
)

// Config is what a service is made of.
type Config struct {
	Version      string
	Listen       string // address and port; port 0: any
	DataDir      string
	Database     Database
	MaxUpload    int64 // bytes; 0: as much as the disk holds
	MaxUnpacked  int64 // bytes that may come out of one compressed file; 0: 256 GiB
	DiskReserve  int64 // bytes that stay free; 0: 256 MiB
	Workers      int
	UploadExpiry time.Duration
	AllowedHosts []string
	IngestToken  string // that agents carry whose rows are taken; empty: none are
	Logger       *slog.Logger
}

// Database says which ClickHouse is used. Without an Address one is started beside the service.
type Database struct {
	Address        string
	HTTPAddress    string // for downloads; empty: port 8123 of the same host, 8443 with TLS
	Name           string
	User           string
	Password       string
	Reader         string // user of the queries that people type
	ReaderPassword string
	TLS            bool
	CAFile         string
	Library        string // path of the embedded engine; empty: where it is usually found
}
