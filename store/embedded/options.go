package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// Environment variables by which the parts of the embedded database are found.
const (
	LibraryVariable = "ROCELENS_CLICKHOUSE_LIBRARY"
	ProgramVariable = "ROCELENS_CLICKHOUSE_PROGRAM"
)

// DefaultMinFree is how much room there must be on the data directory's disk, in bytes.
const DefaultMinFree = 1 << 30

// Limits bound one query of the reader. A query that would pass one ends with ClickHouse's error, so that
// no answer is ever cut in silence.
type Limits struct {
	ExecutionTime time.Duration // at least one second
	Memory        uint64        // bytes
	ResultRows    uint64
	ResultBytes   uint64
	Concurrent    uint64 // queries of all readers together
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

// Options say where the database lives and what its reader may do. The zero value of each but Data is
// replaced by a default.
type Options struct {
	Data     string // directory, made when absent; nothing else may live in it
	Program  string // path of rocelens-clickhouse; empty: FindProgram
	Library  string // path of libchdb.so; empty: FindLibrary
	Database string // the one that the reader may read; "rocelens"
	TCPPort  uint16 // native protocol, on 127.0.0.1; 0: the system chooses
	HTTPPort uint16 // 0: the system chooses
	MinFree  uint64 // bytes that must be free on the disk before the start; DefaultMinFree
	Limits   Limits // DefaultLimits
	Restarts int    // of a database that died, within ten minutes, before it is given up; 5
	Logger   *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Data == "" {
		return o, errors.New("no data directory is given for the embedded database")
	}
	var err error
	if o.Data, err = filepath.Abs(o.Data); err != nil {
		return o, fmt.Errorf("data directory %s: %w", o.Data, err)
	}
	if o.Library, err = FindLibrary(o.Library); err != nil {
		return o, err
	}
	if o.Program, err = FindProgram(o.Program); err != nil {
		return o, err
	}
	if o.Database == "" {
		o.Database = "rocelens"
	}
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Restarts == 0 {
		o.Restarts = 5
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// ErrNoLibrary says that the ClickHouse library is nowhere to be found.
var ErrNoLibrary = errors.New("the ClickHouse library is not installed")

// libraryInTree is where "npm ci --prefix store/embedded/library" puts the library.
func libraryInTree() string {
	architecture := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	system := runtime.GOOS + "-" + architecture
	if runtime.GOOS == "linux" {
		system += "-gnu"
	}
	return filepath.Join("store", "embedded", "library", "node_modules", "@chdb", "lib-"+system, "libchdb.so")
}

// FindLibrary is the path of libchdb.so: the given one, that of the environment variable
// ROCELENS_CLICKHOUSE_LIBRARY, one beside the running program, or the one installed in the source tree
// that the program or the working directory lies in. Otherwise the answer is ErrNoLibrary.
func FindLibrary(given string) (string, error) {
	for _, path := range []string{given, os.Getenv(LibraryVariable)} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil { //nolint:gosec // the path that the user named
			return "", fmt.Errorf("%w at %s: install it with \"make library\", or use a server of your own with --clickhouse ADDR", ErrNoLibrary, path)
		}
		return filepath.Abs(path)
	}
	var starts []string
	if program, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(program), "libchdb.so")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
		starts = append(starts, filepath.Dir(program))
	}
	if directory, err := os.Getwd(); err == nil {
		starts = append(starts, directory)
	}
	for _, start := range starts {
		for directory := start; ; directory = filepath.Dir(directory) {
			path := filepath.Join(directory, libraryInTree())
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
			if directory == filepath.Dir(directory) {
				break
			}
		}
	}
	return "", fmt.Errorf("%w: install it with \"make library\", name it with --library or %s, or use a server of your own with --clickhouse ADDR", ErrNoLibrary, LibraryVariable)
}

// FindProgram is the path of rocelens-clickhouse: the given one, that of the environment variable
// ROCELENS_CLICKHOUSE_PROGRAM, one beside the running program, or one on the PATH.
func FindProgram(given string) (string, error) {
	const name = "rocelens-clickhouse"
	for _, path := range []string{given, os.Getenv(ProgramVariable)} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil { //nolint:gosec // the path that the user named
			return "", fmt.Errorf("the program %s: %w", name, err)
		}
		return filepath.Abs(path)
	}
	if program, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(program), name)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the program %s is neither beside this one nor on the PATH: build it with \"make build\"", name)
	}
	return path, err
}
