package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/migrations"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/blocks"
)

// Tables whose partitions are captures.
const (
	packetsTable = "packets"
	flowsTable   = "flows"
	pathsTable   = "paths"
	streamsTable = "streams"

	divergencesTable = "divergences"
	verdictsTable    = "verdicts"
	replaysTable     = "replays"
)

// dataTables are these tables, and what their writers collect rows in. To add one takes an entry here, a migration and
// a line in [Analysis] that hands its rows over.
var dataTables = []struct {
	name  string
	batch func() *blocks.Block
}{
	{packetsTable, func() *blocks.Block { return &blocks.NewPacketBlock().Block }},
	{flowsTable, func() *blocks.Block { return &blocks.NewFlowBlock().Block }},
	{pathsTable, func() *blocks.Block { return &blocks.NewPathBlock().Block }},
	{streamsTable, func() *blocks.Block { return &blocks.NewStreamBlock().Block }},
	{divergencesTable, func() *blocks.Block { return &blocks.NewDivergenceBlock().Block }},
	{verdictsTable, func() *blocks.Block { return &blocks.NewVerdictBlock().Block }},
	{replaysTable, func() *blocks.Block { return &blocks.NewReplayBlock().Block }},
}

// Config says which database to use and how. The zero value of each field but the addresses is replaced by
// a default.
type Config struct {
	Address     string // host:port of the native protocol
	HTTPAddress string // host:port of the HTTP interface, for downloads; empty: downloads are disabled
	TLS         *tls.Config
	Account     access.Account // of the service: it owns the database
	Reader      access.Account // that runs users' SQL; without a name the store makes one of its own
	Database    string         // "rocelens"
	Limits      Limits         // of a Reader that the store makes; DefaultLimits

	// QueryDisabled, when not empty, is why users' SQL is not to be run.
	QueryDisabled string

	BatchRows int           // rows that are inserted at once, 200,000
	BatchAge  time.Duration // after which fewer are, one second
	Patience  time.Duration // for a database that is away or busy, one minute
	Logger    *slog.Logger
}

// Limits bound one query of the reader.
type Limits struct {
	ExecutionTime time.Duration
	Memory        uint64 // bytes
	ResultRows    uint64
	ResultBytes   uint64
	Concurrent    uint64
}

// DefaultLimits lets one query run for a minute, use 2 GiB and answer with ten million rows.
func DefaultLimits() Limits {
	return Limits{
		ExecutionTime: time.Minute,
		Memory:        2 << 30,
		ResultRows:    10_000_000,
		ResultBytes:   4 << 30,
		Concurrent:    8,
	}
}

// OldestVersion is the oldest ClickHouse that the schema and the queries are written for.
const OldestVersion = "24.8"

const (
	oldestMajor = 24
	oldestMinor = 8
)

func (c Config) withDefaults() (Config, error) {
	if c.Address == "" {
		return c, errors.New("no address of a ClickHouse server is given")
	}
	if c.Database == "" {
		c.Database = "rocelens"
	}
	if !access.ValidDatabase(c.Database) {
		return c, fmt.Errorf("%q is no name for the database: letters, digits and underscores are", c.Database)
	}
	if c.Account.User == "" {
		c.Account.User = "default"
	}
	if c.Limits == (Limits{}) {
		c.Limits = DefaultLimits()
	}
	if c.BatchRows <= 0 {
		c.BatchRows = 200_000
	}
	if c.BatchAge <= 0 {
		c.BatchAge = time.Second
	}
	if c.Patience <= 0 {
		c.Patience = time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Store is an open database. All its methods may be used by several goroutines at once.
type Store struct {
	config  Config
	version string
	conn    driver.Conn
	writers map[string]*writer // by table
	cancel  context.CancelFunc
	reader  access.Account
	http    *http.Client
	// errorNames are ClickHouse's names of its error codes.
	errorNames map[int]string
	sequences  *sequenceCache
	// disabled is why users' SQL is not run, nil when it is.
	disabled *DisabledError

	mutex       sync.Mutex
	lastVersion uint64
}

// Open connects, checks the server's version, brings the schema up to date, empties the staging tables and
// sees to the reader. One Store at a time may have a database open. ctx bounds the opening alone.
func Open(ctx context.Context, config Config) (*Store, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, done := withoutDeadline(ctx)
	defer done()
	s := &Store{config: config, sequences: newSequenceCache(), http: &http.Client{Transport: &http.Transport{TLSClientConfig: config.TLS}}}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	s.conn, err = clickhouse.Open(s.options(config.Database))
	if err != nil {
		return nil, fmt.Errorf("connect to ClickHouse at %s: %w", config.Address, err)
	}
	if err := errors.Join(s.makeStaging(ctx), s.readErrorNames(ctx)); err != nil {
		return nil, errors.Join(err, s.conn.Close())
	}
	if err := s.makeReader(ctx); err != nil {
		return nil, errors.Join(err, s.conn.Close())
	}

	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.writers = make(map[string]*writer, len(dataTables))
	for _, table := range dataTables {
		w := newWriter(s.staging(table.name), table.batch(), config, s.dial)
		s.writers[table.name] = w
		go w.run(running)
	}
	return s, nil
}

// prepare checks the server and makes databases and tables.
func (s *Store) prepare(ctx context.Context) (err error) {
	conn, err := clickhouse.Open(s.options("system")) // the one database that every server has
	if err != nil {
		return fmt.Errorf("connect to ClickHouse at %s: %w", s.config.Address, err)
	}
	defer closing(&err, conn)
	server, err := conn.ServerVersion()
	if err != nil {
		return fmt.Errorf("connect to ClickHouse at %s: %w", s.config.Address, err)
	}
	s.version = fmt.Sprintf("%d.%d.%d", server.Version.Major, server.Version.Minor, server.Version.Patch)
	if !newEnough(server.Version.Major, server.Version.Minor) {
		return fmt.Errorf("%w: the server at %s is version %s, and %s is the oldest that rocelens works with",
			ErrOldServer, s.config.Address, s.version, OldestVersion)
	}
	for _, database := range []string{s.config.Database, s.stagingDatabase()} {
		if err := conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+access.Identifier(database)); err != nil {
			return fmt.Errorf("create the database %s: %w", database, err)
		}
	}
	db := clickhouse.OpenDB(s.options(s.config.Database))
	applied, err := migrations.Up(ctx, db, s.config.Logger)
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return cmp.Or(s.tryTable(ctx, conn), err)
	}
	if applied > 0 {
		s.config.Logger.Info("the schema is up to date", slog.Int("files_applied", applied))
	}
	return nil
}

// tryTable makes a table and drops it, since goose says of a refusal only that the connection is closed.
func (s *Store) tryTable(ctx context.Context, conn driver.Conn) error {
	table := s.table("rights")
	for _, statement := range []string{"CREATE TABLE IF NOT EXISTS " + table + " (n UInt8) ENGINE = MergeTree ORDER BY n", "DROP TABLE IF EXISTS " + table + " SYNC"} {
		if err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("create tables in the database %s: %w", s.config.Database, err)
		}
	}
	return nil
}

func newEnough(major, minor uint64) bool {
	return major > oldestMajor || major == oldestMajor && minor >= oldestMinor
}

// makeStaging makes the staging tables anew, of the same shape as the tables that they are copied to. What
// an earlier run left in them was never committed.
func (s *Store) makeStaging(ctx context.Context) error {
	for _, table := range dataTables {
		for _, statement := range []string{
			"DROP TABLE IF EXISTS " + s.staging(table.name) + " SYNC",
			"CREATE TABLE " + s.staging(table.name) + " AS " + s.table(table.name),
		} {
			if err := s.exec(ctx, statement); err != nil {
				return fmt.Errorf("make the staging table of %s: %w", table.name, err)
			}
		}
	}
	return nil
}

func (s *Store) options(database string) *clickhouse.Options {
	return &clickhouse.Options{
		Addr:         []string{s.config.Address},
		Auth:         clickhouse.Auth{Database: database, Username: s.config.Account.User, Password: s.config.Account.Password},
		TLS:          s.config.TLS,
		Compression:  &clickhouse.Compression{Method: clickhouse.CompressionLZ4},
		DialTimeout:  10 * time.Second,
		ReadTimeout:  10 * time.Minute,
		MaxOpenConns: 16,
		MaxIdleConns: 4,
		Settings:     clickhouse.Settings{"final": 1},
	}
}

func (s *Store) dial(ctx context.Context) (*ch.Client, error) {
	return ch.Dial(ctx, ch.Options{
		Address:     s.config.Address,
		Database:    s.config.Database,
		User:        s.config.Account.User,
		Password:    s.config.Account.Password,
		TLS:         s.config.TLS,
		Compression: ch.CompressionLZ4,
		DialTimeout: 10 * time.Second,
		ReadTimeout: 10 * time.Minute,
		ClientName:  "rocelens",
	})
}

// Close ends the writers and the connections. Analyses that are not committed are lost.
func (s *Store) Close() error {
	s.cancel()
	for _, w := range s.writers {
		<-w.done
	}
	s.sequences.close()
	s.http.CloseIdleConnections()
	return s.conn.Close()
}

// Version asks the database for its version, which is also the proof that it answers.
func (s *Store) Version(ctx context.Context) (string, error) {
	var version string
	if err := s.conn.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		return "", fmt.Errorf("ask ClickHouse for its version: %w", err)
	}
	return version, nil
}

func (s *Store) stagingDatabase() string { return s.config.Database + "_staging" }

func (s *Store) table(name string) string {
	return access.Identifier(s.config.Database) + "." + access.Identifier(name)
}

func (s *Store) staging(name string) string {
	return access.Identifier(s.stagingDatabase()) + "." + access.Identifier(name)
}

// exec runs a statement that can be run again without harm, and waits for what it does.
func (s *Store) exec(ctx context.Context, statement string) error {
	settings := clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"mutations_sync": 2,
		"alter_sync":     2,
		"max_query_size": 64 << 20,
	}))
	return persist(ctx, s.config.Patience, func() error { return s.conn.Exec(settings, statement) })
}

// partition is the expression of a capture's partition.
func partition(capture uuid.UUID) string { return "'" + capture.String() + "'" }

func (s *Store) dropPartition(ctx context.Context, table string, capture uuid.UUID) error {
	if err := s.exec(ctx, "ALTER TABLE "+table+" DROP PARTITION "+partition(capture)); err != nil {
		return fmt.Errorf("remove the rows of capture %s from %s: %w", capture, table, err)
	}
	return nil
}
