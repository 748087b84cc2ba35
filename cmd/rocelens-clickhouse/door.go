package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// acceptPause is how long no client is let in when the process has too many files open.
const acceptPause = 20 * time.Millisecond

// door is what clients connect to instead of the engine. ClickHouse 26.7 in this form aborts when a connection is reset
// while it writes, which any client does that leaves with an answer unread: by a cancelled query, or by dying. The door
// lets the engine see an orderly end and reads what is left.
type door struct {
	listener *net.TCPListener
	admit    func(net.Conn) []byte // reads the client's first bytes for the engine; nil when it is turned away
}

// doors are those of the native protocol and of HTTP.
type doors struct{ native, http door }

func openDoors(nativePort, httpPort uint, native guard) (doors, error) {
	n, err := openDoor(context.Background(), nativePort)
	if err != nil {
		return doors{}, err
	}
	n.admit = native.admit
	h, err := openDoor(context.Background(), httpPort)
	if err != nil {
		return doors{}, errors.Join(err, n.listener.Close())
	}
	h.admit = func(net.Conn) []byte { return []byte{} }
	return doors{n, h}, nil
}

// lead reads the engine's ports, takes the directory of files from the engine, leads clients there, tells the doors' ports
// on standard output, and tells whether all of that went well.
func (d doors) lead(listening io.Reader, engine net.IP, files noFiles) bool {
	var native, http int
	if _, err := fmt.Fscanf(listening, "%d\t%d\n", &native, &http); err != nil {
		return false
	}
	if err := files.remove(); err != nil {
		fmt.Fprintf(os.Stderr, "rocelens-clickhouse: %v\n", err)
		os.Exit(1) // the engine has met nobody yet
	}
	go d.native.serve(&net.TCPAddr{IP: engine, Port: native})
	go d.http.serve(&net.TCPAddr{IP: engine, Port: http})
	_, err := fmt.Printf("%d\t%d\n", d.native.port(), d.http.port())
	return err == nil
}

// openDoor listens on a port of the loopback interface; 0 lets the system choose.
func openDoor(ctx context.Context, port uint) (door, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(port), 10)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return door{}, fmt.Errorf("a port of the database is in use by another program: %w", err)
	}
	if err != nil {
		return door{}, fmt.Errorf("listen: %w", err)
	}
	return door{listener: listener.(*net.TCPListener)}, nil //nolint:forcetypeassert // what tcp4 gives
}

func (d door) port() int {
	return d.listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // what tcp4 gives
}

// serve leads clients to the engine's address for as long as the process lives.
func (d door) serve(address *net.TCPAddr) {
	for {
		client, err := d.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		go d.pass(client, address)
	}
}

// pass carries bytes both ways. How a direction ends tells nothing that the other side does not learn from its end.
func (d door) pass(client *net.TCPConn, address *net.TCPAddr) {
	first := d.admit(client)
	if first == nil {
		_ = client.Close()
		return
	}
	engine, err := net.DialTCP("tcp4", nil, address)
	if err != nil {
		_ = client.Close()
		return
	}
	go func() {
		if _, err := engine.Write(first); err == nil {
			_, _ = io.Copy(engine, client)
		}
		_ = engine.CloseWrite()
	}()
	if _, err := io.Copy(client, engine); err != nil {
		_, _ = io.Copy(io.Discard, engine)
	}
	_ = client.Close()
	_ = engine.Close()
}
