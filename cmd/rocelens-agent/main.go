// Command rocelens-agent watches network interfaces for RDMA over Ethernet and reports the flows it sees.
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

const (
	exitFailure = 1
	exitUsage   = 2
)

// logOutput is where the log goes.
type logOutput io.Writer

// failure is an error before a command runs, in a command line that is right.
type failure struct{ error }

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version string

type commandLine struct {
	Run     runCommand       `cmd:"" help:"Capture on interfaces; ship flows to ClickHouse, or print them as JSON lines."`
	Doctor  doctorCommand    `cmd:"" help:"Examine a network interface: what it can show of RDMA, what it cannot, and what to do about that."`
	Version kong.VersionFlag `help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The second signal kills, should the first have been handled too slowly.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var root commandLine
	exited := -1
	parser, err := kong.New(&root,
		kong.Name("rocelens-agent"),
		kong.Description("Watch network interfaces for RDMA over Ethernet."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": "rocelens-agent " + version},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(arguments(args)),
		kong.BindTo(stdout, (*io.Writer)(nil)),
		kong.BindTo(stderr, (*logOutput)(nil)),
	)
	if err != nil {
		fmt.Fprintf(stderr, "rocelens-agent: %v\n", err)
		return exitFailure
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if failed, ok := errors.AsType[*failure](err); ok {
		fmt.Fprintf(stderr, "rocelens-agent: %v\n", failed)
		return exitFailure
	}
	if err != nil {
		fmt.Fprintf(stderr, "rocelens-agent: %v (see rocelens-agent --help)\n", err)
		return exitUsage
	}
	err = command.Run()
	if errors.Is(err, errCannotCapture) {
		return exitFailure
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		fmt.Fprintf(stderr, "rocelens-agent: %v\n", err)
		return exitFailure
	}
	return 0
}
