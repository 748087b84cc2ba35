// Command flood sends RoCEv2 at several rates over a pair of virtual interfaces, and prints for each tier of rocelens-agent, tcpdump
// and dumpcap what share of the packets each gets, and the processor time that it takes for them: medians and ratios of one run. It needs root,
// for network namespaces, and Debian's packages tcpdump, wireshark-common and iproute2; missing tools are said to be missing.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

type commandLine struct {
	Rates       []int         `default:"50000,200000,400000,0" help:"Packets a second; 0 is as many as one thread can send."`
	For         time.Duration `default:"2s" help:"Length of a flood."`
	Runs        int           `default:"3" help:"Runs of each; they take turns."`
	Connections int           `default:"64" help:"Connections that take turns."`
	Payload     int           `default:"1024" help:"Payload of a packet, bytes."`
	Agent       string        `help:"rocelens-agent to measure; the default is built from this tree."`
}

const (
	left, right = "rocelens-flood-l", "rocelens-flood-r"
	from, to    = "flood-l", "flood-r"
)

func main() {
	var cl commandLine
	parsed := kong.Parse(&cl, kong.Name("flood"), kong.Description("Flood rocelens-agent, tcpdump and dumpcap with the same packets."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := cl.run(ctx, os.Stdout)
	stop()
	parsed.FatalIfErrorf(err)
}

func (cl *commandLine) run(ctx context.Context, out io.Writer) (err error) {
	if cl.Runs < 1 || cl.Connections < 1 || cl.Connections > maxConnections || cl.Payload < 0 || cl.Payload > maxPayload {
		return fmt.Errorf("--runs and --connections must be at least 1, --connections at most %d, --payload at most %d", maxConnections, maxPayload)
	}
	directory, err := os.MkdirTemp("", "rocelens-flood")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	if cl.Agent == "" {
		cl.Agent = filepath.Join(directory, "rocelens-agent")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", cl.Agent, "./cmd/rocelens-agent") //nolint:gosec // our own directory
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build rocelens-agent: %w: %s", err, text)
		}
	}
	defer func() {
		for _, n := range []string{left, right} {
			err = errors.Join(err, call(context.WithoutCancel(ctx), "ip", "netns", "delete", n))
		}
	}()
	for _, words := range []string{
		"netns add " + left, "netns add " + right,
		"link add " + from + " netns " + left + " type veth peer name " + to + " netns " + right,
		"-n " + left + " link set " + from + " mtu 9000 up", "-n " + right + " link set " + to + " mtu 9000 up",
	} {
		if err := call(ctx, "ip", strings.Fields(words)...); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "machine   %s\nflood     %d bytes of payload, %d connections, %s, medians of %d runs\n", machine(), cl.Payload, cl.Connections, cl.For, cl.Runs)
	return cl.compare(ctx, out, contenders(cl.Agent))
}

// result is one flood before one contender.
type result struct {
	offered float64 // packets a second
	share   float64 // of them that were captured
	cpu     float64 // processor seconds for a million captured packets
	sender  float64 // of the sender's thread, for a million sent ones
}

func (cl *commandLine) compare(ctx context.Context, out io.Writer, all []contender) error {
	idle := make([]float64, len(all))
	for i, c := range all {
		if !c.installed() {
			continue
		}
		_, spent, err := c.watch(ctx, func() error { return pause(ctx, cl.For) })
		if err != nil {
			return err
		}
		idle[i] = spent.Seconds()
	}
	for _, rate := range cl.Rates {
		results := make([][]result, len(all))
		for range cl.Runs {
			for i, c := range all {
				if !c.installed() {
					continue
				}
				r, err := cl.flood(ctx, c, rate, idle[i])
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				results[i] = append(results[i], r)
			}
		}
		report(out, all, results)
	}
	fmt.Fprint(out, `
captured: of what was sent; CPU: of the process and its children, seconds for a million packets that it captured, without what it takes
when nothing comes; ratio: the tool's CPU by that of the first line. What the kernel does for a packet, the programs of the kernel tier included, is
done on the sender's account, whose own work cannot be told from it: sender is the time of its thread for a million packets.
`)
	return nil
}

// flood sends before one contender.
func (cl *commandLine) flood(ctx context.Context, c contender, rate int, idle float64) (result, error) {
	var sent sent
	captured, spent, err := c.watch(ctx, func() (err error) {
		sent, err = send(ctx, newTraffic(cl.Connections, cl.Payload), rate, cl.For)
		return err
	})
	if err != nil {
		return result{}, err
	}
	packets := float64(sent.packets)
	got := min(float64(captured), packets) // the kernel itself sends a few packets, too
	return result{
		offered: packets / sent.took.Seconds(), share: got / packets,
		cpu: max(0, spent.Seconds()-idle) / got * 1e6, sender: sent.spent.Seconds() / packets * 1e6,
	}, nil
}

func report(out io.Writer, all []contender, results [][]result) {
	middle := func(i int, of func(result) float64) float64 {
		v := make([]float64, 0, len(results[i]))
		for _, r := range results[i] {
			v = append(v, of(r))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	cpu := func(r result) float64 { return r.cpu }
	fmt.Fprintf(out, "\n%-32s %12s %10s %10s %7s %9s\n", "", "offered/s", "captured", "CPU s/M", "ratio", "sender")
	for i, c := range all {
		if !c.installed() {
			fmt.Fprintf(out, "%-32s not installed\n", c.name)
			continue
		}
		fmt.Fprintf(out, "%-32s %12.0f %9.2f%% %10.3f %6.2fx %9.3f\n", c.name, middle(i, func(r result) float64 { return r.offered }),
			100*middle(i, func(r result) float64 { return r.share }), middle(i, cpu), middle(i, cpu)/middle(0, cpu),
			middle(i, func(r result) float64 { return r.sender }))
	}
}

// machine names the processor as Linux does, and how busy it is.
func machine() string {
	name := "unknown processor"
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown")
	}
	words := strings.Fields(string(load))
	return fmt.Sprintf("%s, %d CPUs, load average %s, %s/%s, %s", name, runtime.NumCPU(), words[0], runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func call(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // our own words
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
