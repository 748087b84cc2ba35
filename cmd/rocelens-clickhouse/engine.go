package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// serve runs the engine's command line in this process and returns when standard input has ended.
func serve(library, config, data string, engine net.IP, doors doors, files noFiles) error {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("the ClickHouse library does not load: %w", err)
	}
	var queryCmdline func(argc int32, argv **byte) uintptr
	var resultError func(result uintptr) string
	for name, function := range map[string]any{"chdb_query_cmdline": &queryCmdline, "chdb_result_error": &resultError} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return fmt.Errorf("%s is no ClickHouse library that can serve: %w", library, err)
		}
		purego.RegisterFunc(function, symbol)
	}

	listening, ports, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	arguments := []string{
		"clickhouse",
		"--config-file=" + config,
		"--path=" + data,
		"--query=" + lifetime("/dev/fd/"+strconv.Itoa(int(ports.Fd()))),
	}
	argv, pin := cStrings(arguments)
	defer pin.Unpin()

	said, original, err := divertStderr()
	if err != nil {
		return err
	}
	told := make(chan bool, 1)
	go func() { told <- doors.lead(listening, engine, files) }()
	last := make(chan string, 1)
	go func() { last <- relay(said, original) }()

	result := queryCmdline(int32(len(arguments)), &argv[0])

	if err := errors.Join(restoreStderr(original), ports.Close()); err != nil {
		return fmt.Errorf("end the engine: %w", err)
	}
	message := <-last
	if result != 0 && resultError(result) != "" {
		message = resultError(result)
	}
	// The engine writes its errors and returns as if all were well: what tells is whether it ever listened.
	if !<-told {
		return explain(message, data)
	}
	return nil
}

// relay copies what the engine writes to standard error and returns its last line about an error.
func relay(said io.Reader, original io.Writer) string {
	var last string
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			if _, err := io.WriteString(original, line); err != nil {
				original = io.Discard
			}
			if strings.Contains(line, "Exception") || last == "" {
				last = line
			}
		}
		if err != nil {
			return last
		}
	}
}

// lifetime is the script that the engine runs: listen, write the ports to a file, and live as long as
// standard input.
func lifetime(ports string) string {
	return strings.Join([]string{
		"SYSTEM START LISTEN TCP",
		"SYSTEM START LISTEN HTTP",
		"INSERT INTO FUNCTION file('" + ports + "', 'TSV', 't UInt16, h UInt16') " +
			"SELECT getServerPort('tcp_port'), getServerPort('http_port')",
		"SELECT count() FROM file('-', 'LineAsString', 'line String') FORMAT Null",
	}, "; ")
}

// cStrings lays out argv: pointers to null-terminated strings, ended by a null pointer, pinned for the
// time of the call.
func cStrings(values []string) ([]*byte, *runtime.Pinner) {
	pin := new(runtime.Pinner)
	pointers := make([]*byte, 0, len(values)+1)
	for _, value := range values {
		text := append([]byte(value), 0)
		pointer := unsafe.SliceData(text) //nolint:gosec // what argv is made of
		pin.Pin(pointer)
		pointers = append(pointers, pointer)
	}
	pointers = append(pointers, nil)
	pin.Pin(&pointers[0])
	return pointers, pin
}
