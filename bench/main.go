// Command bench times rocelens against the tools that people use today, on one capture that it makes itself, in one
// run on one machine, and prints medians and ratios. Missing tools are said to be missing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/internal/capgen"
)

type commandLine struct {
	Packets     int    `default:"1000000" help:"Packets of the capture, about 1 KiB each."`
	Connections int    `default:"1024" help:"Connections of the capture."`
	Runs        int    `default:"5" help:"Runs of each quick tool; slow ones run at most three times."`
	Directory   string `help:"Where the capture is kept between runs; the default is in the system's temporary directory."`
	Rocelens    string `help:"Binary to time; the default is built from this tree."`
}

// contender is one command line that is timed.
type contender struct {
	name string
	slow bool
	args []string
	note string
}

func main() {
	var cl commandLine
	parsed := kong.Parse(&cl, kong.Name("bench"), kong.Description("Time rocelens against tshark, tcpdump and capinfos."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := cl.run(ctx, os.Stdout)
	stop()
	parsed.FatalIfErrorf(err)
}

func (cl *commandLine) run(ctx context.Context, out io.Writer) error {
	if cl.Runs < 1 {
		return errors.New("--runs must be at least 1")
	}
	if cl.Directory == "" {
		cl.Directory = filepath.Join(os.TempDir(), "rocelens-bench")
	}
	if err := os.MkdirAll(cl.Directory, 0o750); err != nil {
		return fmt.Errorf("make directory for the capture: %w", err)
	}
	if cl.Rocelens == "" {
		cl.Rocelens = filepath.Join(cl.Directory, "rocelens")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", cl.Rocelens, "./cmd/rocelens") //nolint:gosec // the caller says where to
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build rocelens: %w", err)
		}
	}
	file, err := cl.capture()
	if err != nil {
		return err
	}
	if err := warm(file); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("look at capture: %w", err)
	}
	fmt.Fprintf(out, "machine   %s\ncapture   %.2f GB, %d connections\n", machine(), float64(info.Size())/1e9, cl.Connections)
	if err := agree(ctx, out, cl.Rocelens, file); err != nil {
		return err
	}
	if err := compareHotPaths(ctx, out, cl.Directory, cl.Runs); err != nil {
		return err
	}
	return compare(ctx, out, cl.contenders(file), cl.Runs)
}

func (cl *commandLine) contenders(file string) []contender {
	return []contender{
		{name: "rocelens analyze", args: []string{cl.Rocelens, "analyze", file}, note: "decoded, ICRC verified, tracked"},
		{name: "rocelens analyze --no-icrc", args: []string{cl.Rocelens, "analyze", "--no-icrc", file}, note: "decoded and tracked"},
		{name: "cat", args: []string{"cat", file}, note: "reads the file"},
		{name: "capinfos -c", args: []string{"capinfos", "-c", file}, note: "counts packets"},
		{name: "tcpdump -nr", slow: true, args: []string{"tcpdump", "-nr", file}, note: "prints a line a packet"},
		{name: "tshark, three fields", slow: true, args: []string{
			"tshark", "-r", file, "-T", "fields",
			"-e", "infiniband.bth.opcode", "-e", "infiniband.bth.destqp", "-e", "infiniband.bth.psn",
		}, note: "prints a line a packet"},
	}
}

// capture makes the file, unless an earlier run with the same settings did.
func (cl *commandLine) capture() (string, error) {
	file := filepath.Join(cl.Directory, fmt.Sprintf("v1-%d-%d.pcap", cl.Packets, cl.Connections))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	partial, err := os.CreateTemp(cl.Directory, "partial-*")
	if err != nil {
		return "", fmt.Errorf("make capture: %w", err)
	}
	cfg := capgen.Default()
	cfg.Packets, cfg.Connections = cl.Packets, cl.Connections
	cfg.Faults = capgen.Faults{LossBefore: 0.01, LossAfter: 0.01, Mark: 0.02, Reorder: 0.01}
	_, err = capgen.Generate(partial, pcapfile.FormatPcap, cfg)
	if err = errors.Join(err, partial.Close()); err != nil {
		return "", errors.Join(err, os.Remove(partial.Name()))
	}
	if err := os.Rename(partial.Name(), file); err != nil {
		return "", fmt.Errorf("make capture: %w", err)
	}
	return file, nil
}

// warm reads the file once, so that no tool pays for the disk.
func warm(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("read capture: %w", err)
	}
	_, err = io.Copy(io.Discard, f)
	return errors.Join(err, f.Close())
}

// compare runs the contenders in turns and prints a line for each.
func compare(ctx context.Context, out io.Writer, contenders []contender, runs int) error {
	times := make([][]time.Duration, len(contenders))
	memory := make([]int64, len(contenders))
	missing := make([]bool, len(contenders))
	for run := range runs {
		for i, c := range contenders {
			if missing[i] || c.slow && run >= 3 {
				continue
			}
			if !installed(c.args[0]) {
				missing[i] = true
				continue
			}
			took, peak, err := clock(ctx, c.args)
			if err != nil {
				return fmt.Errorf("run %s: %w", c.name, err)
			}
			times[i] = append(times[i], took)
			memory[i] = max(memory[i], peak)
		}
	}
	own := median(times[0])
	fmt.Fprintf(out, "%-28s %9s %9s %7s %8s\n", "whole file, page cache warm", "median", "fastest", "ratio", "memory")
	for i, c := range contenders {
		if missing[i] {
			fmt.Fprintf(out, "%-28s %9s %9s %7s %8s  not installed\n", c.name, "–", "–", "–", "–")
			continue
		}
		m := median(times[i])
		fmt.Fprintf(out, "%-28s %8.3fs %8.3fs %6.1fx %8s  %s\n", c.name, m.Seconds(), slices.Min(times[i]).Seconds(),
			float64(m)/float64(own), resident(memory[i]), c.note)
	}
	fmt.Fprintln(out, "\nratio: the tool's median by that of the first line; memory: the peak of its resident set")
	return nil
}

// clock runs a command line and tells how long it took and the peak of its resident set in bytes.
func clock(ctx context.Context, args []string) (took time.Duration, peak int64, err error) {
	command := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the contenders are listed above
	start := time.Now()
	err = command.Run() // both outputs go to the null device
	took = time.Since(start)
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = usage.Maxrss << 10 // Linux counts in KiB
	}
	return took, peak, err
}

// resident is a peak for people. A process inherits the peak of the one that started it, so that a smaller one cannot
// be told.
func resident(peak int64) string {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err == nil && peak <= own.Maxrss<<10 {
		return fmt.Sprintf("<%d MB", own.Maxrss>>10)
	}
	return fmt.Sprintf("%d MB", peak>>20)
}

// agree holds the number of packets against that of capinfos, so that nobody is quick by leaving some out.
func agree(ctx context.Context, out io.Writer, rocelens, file string) error {
	text, err := exec.CommandContext(ctx, rocelens, "analyze", "--json", file).Output() //nolint:gosec // built above
	if err != nil {
		return fmt.Errorf("run rocelens analyze: %w", err)
	}
	var found struct {
		Totals struct {
			Packets uint64 `json:"packets"`
		} `json:"totals"`
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return fmt.Errorf("read the answer of rocelens analyze: %w", err)
	}
	if !installed("capinfos") {
		fmt.Fprintf(out, "packets   %d, capinfos is not installed\n\n", found.Totals.Packets)
		return nil
	}
	text, err = exec.CommandContext(ctx, "capinfos", "-cTMr", file).Output() //nolint:gosec // made above
	if err != nil {
		return fmt.Errorf("run capinfos: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) == 0 || fields[len(fields)-1] != strconv.FormatUint(found.Totals.Packets, 10) {
		return fmt.Errorf("rocelens counts %d packets, capinfos says %q", found.Totals.Packets, text)
	}
	fmt.Fprintf(out, "packets   %d, as capinfos counts\n\n", found.Totals.Packets)
	return nil
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

// machine names the processor as Linux does, and what runs on it.
func machine() string {
	name := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s", name, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
