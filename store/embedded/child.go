package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// child is one process of the database.
type child struct {
	command  *exec.Cmd
	stdin    io.Closer
	stderr   *tail
	errorLog int64 // size of the engine's log of errors before it started
	tcpPort  uint16
	httpPort uint16
	ended    chan struct{}
	closing  sync.Once
	err      error // of the process; valid after ended is closed
}

// launch starts a process and waits until it says that it listens.
func (s *Server) launch(ctx context.Context, tcpPort, httpPort uint16) (*child, error) {
	if err := s.writeConfiguration(); err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(s.layout.logs(), "stderr.log"))
	if err != nil {
		return nil, fmt.Errorf("the data directory is not writable: %w", err)
	}
	ready, readyWriter, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), file.Close())
	}
	c := &child{stderr: &tail{file: file}, errorLog: s.layout.errorLogSize(), ended: make(chan struct{})}
	c.command = exec.Command(s.options.Program, //nolint:gosec,noctx // our own program; it outlives ctx and ends by its stdin
		"--library", s.options.Library,
		"--config", s.layout.config(),
		"--users", s.layout.users(),
		"--data", s.layout.database(),
		"--engine-host", s.engineHost,
		"--logs", s.layout.logs(),
		"--confine",
		"--native-port", strconv.Itoa(int(tcpPort)),
		"--http-port", strconv.Itoa(int(httpPort)))
	c.command.Dir = s.layout.root
	c.command.Env = []string{} // what is in it could be read by way of /proc
	c.command.Stderr = c.stderr
	c.command.Stdout = readyWriter
	c.command.ExtraFiles = []*os.File{s.engineLock}
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's Ctrl-C is not for the child
	stdin, err := c.command.StdinPipe()
	if err == nil {
		err = c.command.Start()
	}
	if err = errors.Join(err, readyWriter.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", s.options.Program, err), ready.Close(), file.Close())
	}
	c.stdin = stdin
	go c.reap()
	if err := c.awaitReady(ctx, ready); err != nil {
		return nil, err
	}
	// The engine has read them; hashes of passwords need not lie about.
	if err := s.layout.removeConfiguration(); err != nil {
		return nil, errors.Join(err, c.stop(ctx))
	}
	return c, nil
}

func (c *child) reap() {
	err := c.command.Wait()
	if err != nil {
		err = fmt.Errorf("%s (%w)", c.stderr.reason(), err)
	}
	c.err = errors.Join(err, c.stderr.file.Close())
	close(c.ended)
}

// awaitReady reads the ports from the pipe. The pipe ends early when the child dies.
func (c *child) awaitReady(ctx context.Context, ready *os.File) error {
	answer := make(chan error, 1)
	go func() {
		line, err := bufio.NewReader(ready).ReadString('\n')
		if err == nil {
			_, err = fmt.Sscanf(line, "%d\t%d", &c.tcpPort, &c.httpPort)
		}
		answer <- err
	}()
	select {
	case err := <-answer:
		if err == nil {
			return ready.Close()
		}
		<-c.ended
		return errors.Join(fmt.Errorf("the database did not start: %s", c.stderr.reason()), ready.Close())
	case <-ctx.Done():
		killed := c.command.Process.Kill()
		<-c.ended
		if err := <-answer; err == nil {
			killed = errors.Join(killed, errors.New("it had just begun to listen"))
		}
		return errors.Join(fmt.Errorf("start the database: %w", ctx.Err()), killed, ready.Close())
	}
}

// wait returns when the process has ended, with the reason.
func (c *child) wait() error {
	<-c.ended
	if c.err == nil {
		return errors.New("it ended by itself")
	}
	return c.err
}

// stop closes the child's standard input and waits for its end, by force when ctx ends first.
func (c *child) stop(ctx context.Context) error {
	var err error
	c.closing.Do(func() { err = c.stdin.Close() })
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	select {
	case <-c.ended:
		return errors.Join(err, c.err)
	case <-ctx.Done():
	}
	killed := c.command.Process.Kill()
	<-c.ended
	return errors.Join(err, fmt.Errorf("the database did not end in time and was killed: %w", ctx.Err()), killed)
}
