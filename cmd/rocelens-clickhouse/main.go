// Command rocelens-clickhouse is the database that rocelens starts itself: it loads the ClickHouse engine
// from its shared library and serves the native protocol and HTTP until its standard input ends. Once it
// listens it writes one line to standard output: the port of the native protocol, a tab, the port of HTTP.
//
// The engine itself listens on ports of its own choice, at an address of the loopback interface that nobody is told of:
// see door, and guard for who is let through it.
//
// Its life hangs on that pipe alone. When the parent closes it, or dies in whatever way, the engine shuts
// down in order and the process exits 0. Signals from the keyboard are ignored for that reason.
//
// The engine's scalar function file() asks for no privilege in this form of ClickHouse. It is refused all the same, by two
// means: see noFiles, and, where the kernel offers Landlock, confine.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "rocelens-clickhouse: %v\n", err)
		os.Exit(1)
	}
}

// paths are the files and directories that this process has of its own.
type paths struct{ data, logs, config, users, library string }

func run(args []string) error {
	flags := flag.NewFlagSet("rocelens-clickhouse", flag.ContinueOnError)
	library := flags.String("library", "", "path of libchdb.so")
	config := flags.String("config", "", "path of ClickHouse's config.xml")
	data := flags.String("data", "", "directory that the database lives in")
	users := flags.String("users", "", "path of ClickHouse's users.xml; who is not in it with a password is not let in")
	engine := flags.String("engine-host", "127.0.0.1", "address of the loopback interface that the configuration lets the engine listen on")
	logs := flags.String("logs", "", "directory that the configuration lets the engine write its logs to")
	confined := flags.Bool("confine", false, "use no files but the data, the logs (to write), the configuration (to read) and what the system's libraries need")
	native := flags.Uint("native-port", 0, "port of the native protocol on 127.0.0.1; 0: the system chooses")
	http := flags.Uint("http-port", 0, "port of HTTP; 0: the system chooses")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, required := range []struct{ name, value string }{{"library", *library}, {"config", *config}, {"data", *data}, {"users", *users}} {
		if !filepath.IsAbs(required.value) {
			return fmt.Errorf("flag --%s is missing, or no absolute path", required.name)
		}
	}
	if _, err := os.Stat(*config); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if err := checkLibrary(*library); err != nil {
		return err
	}
	if err := checkDirectory(*data); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	if *confined {
		if err := confine(paths{data: *data, logs: *logs, config: *config, users: *users, library: *library}); err != nil {
			return err
		}
	}
	guard, err := readGuard(*users)
	if err != nil {
		return err
	}
	host := net.ParseIP(*engine)
	if !host.IsLoopback() {
		return fmt.Errorf("flag --engine-host: %s is no address of the loopback interface", *engine)
	}
	doors, err := openDoors(*native, *http, guard)
	if err != nil {
		return err
	}
	files, err := enterNoFiles(*data)
	if err != nil {
		return err
	}
	if err := lendStdin(*data); err != nil {
		return err
	}
	return serve(*library, *config, *data, host, doors, files)
}
