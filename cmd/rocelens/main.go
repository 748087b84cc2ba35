// Command rocelens dissects captures of RDMA over Ethernet, tells what went wrong in them, and serves both in a browser.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes that every command keeps to.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, what a shell reports of an interrupted program
)

// commandLine is the root of the command line; each command lives in a file of its name.
type commandLine struct {
	Analyze      analyzeCommand      `cmd:"" help:"Tell what happened in captures: connections, losses, retransmissions, marks, refusals."`
	Replay       replayCommand       `cmd:"" help:"Hold connections against the reference transports: where does the wire diverge?"`
	Diff         diffCommand         `cmd:"" help:"Set two captures or connections side by side: rates, losses, latency, waits, rules."`
	Dissect      dissectCommand      `cmd:"" help:"Print the packets of a capture, field by field."`
	Serve        serveCommand        `cmd:"" help:"Serve the web console and the API: upload captures, browse them, ask in SQL."`
	Migrate      migrateCommand      `cmd:"" help:"Bring the database's tables up to date, which serve does by itself, and stop."`
	Health       healthCommand       `cmd:"" help:"Ask a running service whether it and its database answer."`
	Wireshark    wiresharkCommand    `cmd:"" help:"Teach Wireshark and tshark MetaRoCE, profile mr0."`
	Softmetaroce softmetaroceCommand `cmd:"" help:"Be a MetaRoCE peer, profile mr0, over UDP sockets: serve transfers, or ask for one."`
	Compliance   complianceCommand   `cmd:"" help:"Hold a live MetaRoCE implementation against the rules of profile mr0."`
	Version      versionCommand      `cmd:"" help:"Print the version and how this binary was built."`
}

// streams are the standard streams, and what is known about where they lead.
type streams struct {
	In       io.Reader
	Out      io.Writer
	Err      io.Writer
	OutTTY   bool
	ErrTTY   bool
	OutWidth int  // columns; 0: unknown
	Color    bool // on Out
}

// exitError is an error that chooses the exit code. Without an Err nothing is printed.
type exitError struct {
	Code int
	Err  error
}

func (e *exitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *exitError) Unwrap() error { return e.Err }

func main() {
	// A closed pipe is an error of the write, so that commands end in order instead of dying of a signal.
	signal.Ignore(syscall.SIGPIPE)
	ctx := interruptible(os.Stderr, os.Exit)
	code := run(ctx, os.Args[1:], standardStreams())
	os.Exit(code)
}

// interruptible is a context that ends with the first signal to end. A Ctrl-C after it ends the program there and then;
// another SIGTERM does not, since timeout(1) and others send it to the process and again to its group.
func interruptible(stderr io.Writer, exit func(int)) context.Context {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		for <-signals != syscall.SIGINT {
			continue
		}
		fmt.Fprintln(stderr, "rocelens: ended at once by the second signal, without waiting for what was still to end")
		exit(exitInterrupted)
	}()
	return ctx
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, std *streams) int {
	var root commandLine
	exited := -1
	parser, err := kong.New(&root,
		kong.Name("rocelens"),
		kong.Description("See what RDMA over Ethernet did in a packet capture."),
		kong.Writers(std.Out, std.Err),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std),
		kong.Vars{"flow_sorts": flowSortNames()},
	)
	if err != nil {
		fmt.Fprintf(std.Err, "rocelens: %v\n", err)
		return exitFailure
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return report(ctx, exit, std)
	}
	if err != nil {
		fmt.Fprintf(std.Err, "rocelens: %v (see rocelens --help)\n", err)
		return exitUsage
	}
	return report(ctx, command.Run(), std)
}

// report prints an error as one sentence and turns it into an exit code.
func report(ctx context.Context, err error, std *streams) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return 0
	}
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		if exit.Err != nil {
			fmt.Fprintf(std.Err, "rocelens: %v\n", exit.Err)
		}
		return exit.Code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(std.Err, "rocelens: interrupted before the end; nothing was printed")
		return exitInterrupted
	}
	fmt.Fprintf(std.Err, "rocelens: %v\n", err)
	return exitFailure
}
