// Package systemd tells the service manager how the agent is (sd_notify(3)).
package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What can be said.
const (
	Ready     = "READY=1"
	Reloading = "RELOADING=1"
	Stopping  = "STOPPING=1"
	Alive     = "WATCHDOG=1"
)

// Manager is the service manager that started this process. A nil one hears nothing.
type Manager struct {
	socket *net.UnixConn
	// Watchdog is how long the manager waits for Alive before it kills, 0 for ever.
	Watchdog time.Duration
}

// Connect finds the manager by the environment. It is nil when nobody wants to be told.
func Connect() (*Manager, error) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil //nolint:nilnil // a nil Manager is one that does not listen
	}
	socket, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("the service manager of $NOTIFY_SOCKET does not listen: %w", err)
	}
	m := &Manager{socket: socket}
	if owner := os.Getenv("WATCHDOG_PID"); owner == "" || owner == strconv.Itoa(os.Getpid()) {
		if micros, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64); err == nil && micros > 0 {
			m.Watchdog = time.Duration(micros) * time.Microsecond
		}
	}
	return m, nil
}

// Say tells the manager.
func (m *Manager) Say(states ...string) error {
	if m == nil {
		return nil
	}
	for i, s := range states {
		if s == Reloading { // which systemd wants to know the moment of
			var now unix.Timespec
			if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
				return err
			}
			states[i] = fmt.Sprintf("%s\nMONOTONIC_USEC=%d", s, now.Nano()/1000)
		}
	}
	_, err := m.socket.Write([]byte(strings.Join(states, "\n")))
	return err
}

// Close ends the connection.
func (m *Manager) Close() error {
	if m == nil {
		return nil
	}
	return m.socket.Close()
}
