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
// Where the kernel offers Landlock, the process first gives up all files but its own: the engine's scalar
// function file() asks for no privilege, and a reader of the database must not read the machine by it.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "rocelens-clickhouse: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("rocelens-clickhouse", flag.ContinueOnError)
	library := flags.String("library", "", "path of libchdb.so")
	config := flags.String("config", "", "path of ClickHouse's config.xml")
	data := flags.String("data", "", "directory that the database lives in")
	users := flags.String("users", "", "path of ClickHouse's users.xml; who is not in it with a password is not let in")
	engine := flags.String("engine-host", "127.0.0.1", "address of the loopback interface that the configuration lets the engine listen on")
	confined := flags.String("confine", "", "`directory` outside of which no file can be read or written, apart from what the system's libraries need; empty: no confinement")
	native := flags.Uint("native-port", 0, "port of the native protocol on 127.0.0.1; 0: the system chooses")
	http := flags.Uint("http-port", 0, "port of HTTP; 0: the system chooses")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, required := range []struct{ name, value string }{{"library", *library}, {"config", *config}, {"data", *data}, {"users", *users}} {
		if required.value == "" {
			return fmt.Errorf("flag --%s is missing", required.name)
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
	if *confined != "" {
		if err := confine(*confined, *library); err != nil {
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
	return serve(*library, *config, *data, host, doors)
}
