// Command softmetaroce times a transfer between two MetaRoCE peers, profile mr0, against iperf3's UDP test with
// datagrams of the same size, over the same pair of virtual interfaces in one run, and prints medians and their ratio.
// It needs root, for network namespaces, and Debian's packages iperf3 and iproute2.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

type commandLine struct {
	Runs      int      `default:"3" help:"Runs of each; they take turns."`
	Seconds   int      `default:"3" help:"Length of a run of iperf3."`
	Size      string   `default:"4GiB" help:"What a transfer moves."`
	MTU       int      `name:"mtu" default:"4096" help:"Payload of a packet, bytes."`
	Paths     int      `default:"8" help:"Paths of the connection."`
	Rocelens  string   `help:"Binary to time; the default is built from this tree."`
	Arguments []string `arg:"" optional:"" help:"More arguments of rocelens softmetaroce send, behind --."`
}

const (
	left, right           = "rocelens-bench-l", "rocelens-bench-r"
	leftAddress, rightTen = "10.98.0.1", "10.98.0.2"
)

func main() {
	var cl commandLine
	parsed := kong.Parse(&cl, kong.Name("softmetaroce"), kong.Description("Time a MetaRoCE peer, profile mr0, against iperf3."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := cl.run(ctx, os.Stdout)
	stop()
	parsed.FatalIfErrorf(err)
}

func (cl *commandLine) run(ctx context.Context, out io.Writer) (err error) {
	for _, tool := range []string{"ip", "iperf3"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed", tool)
		}
	}
	if cl.Rocelens == "" {
		directory, err := os.MkdirTemp("", "rocelens-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(directory) //nolint:errcheck // a temporary directory
		cl.Rocelens = filepath.Join(directory, "rocelens")
		if err := call(ctx, "go", "build", "-trimpath", "-o", cl.Rocelens, "./cmd/rocelens"); err != nil {
			return err
		}
	}
	defer func() {
		for _, n := range []string{left, right} {
			gone := call(context.WithoutCancel(ctx), "ip", "netns", "delete", n)
			err = errors.Join(err, gone)
		}
	}()
	for _, words := range []string{
		"netns add " + left, "netns add " + right,
		"link add bench-l netns " + left + " type veth peer name bench-r netns " + right,
		"-n " + left + " address add " + leftAddress + "/24 dev bench-l", "-n " + right + " address add " + rightTen + "/24 dev bench-r",
		"-n " + left + " link set bench-l mtu 9000 up", "-n " + right + " link set bench-r mtu 9000 up",
	} {
		if err := call(ctx, "ip", strings.Fields(words)...); err != nil {
			return err
		}
	}
	datagram := mr0.CHLength + mr0.DHLength + mr0.WETHLength + cl.MTU + metaroce.ICRCLength
	var sent, arrived, ours []float64
	for range cl.Runs {
		out, in, err := cl.iperf3(ctx, datagram)
		if err != nil {
			return err
		}
		sent, arrived = append(sent, out), append(arrived, in)
		v, err := cl.transfer(ctx)
		if err != nil {
			return err
		}
		ours = append(ours, v)
	}
	a, b, c := median(sent), median(arrived), median(ours)
	fmt.Fprintf(out, "datagrams of %d bytes over veth, median of %d runs\n", datagram, cl.Runs)
	fmt.Fprintf(out, "iperf3 -u -b 0 -w 4M     %6.2f Gbit/s of UDP payload sent, %.2f Gbit/s arrive\n", a/1e9, b/1e9)
	fmt.Fprintf(out, "rocelens softmetaroce    %6.2f Gbit/s of data, all of which arrives and is verified\n", c/1e9)
	fmt.Fprintf(out, "ratio                    %6.2f to what iperf3 sends, %.2f to what arrives\n", c/a, c/b)
	return nil
}

// iperf3 is how many bits a second are sent, and how many arrive.
func (cl *commandLine) iperf3(ctx context.Context, datagram int) (sent, arrived float64, err error) {
	server := inside(ctx, right, "iperf3", "-s", "-1", "--forceflush")
	if err := started(server, "listening", true); err != nil {
		return 0, 0, err
	}
	text, err := inside(ctx, left, "iperf3", "-c", rightTen, "-u", "-b", "0", "-l", strconv.Itoa(datagram), "-w", "4M", "-t", strconv.Itoa(cl.Seconds), "-J").Output()
	if err := errors.Join(err, server.Wait()); err != nil {
		return 0, 0, fmt.Errorf("iperf3: %w: %s", err, text)
	}
	var r struct {
		End struct {
			Sum struct {
				Bits float64 `json:"bits_per_second"`
				Lost float64 `json:"lost_percent"`
			} `json:"sum"`
		} `json:"end"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return 0, 0, fmt.Errorf("iperf3: %w", err)
	}
	return r.End.Sum.Bits, r.End.Sum.Bits * (1 - r.End.Sum.Lost/100), nil
}

// transfer is how many bits of data a second a transfer moves.
func (cl *commandLine) transfer(ctx context.Context) (float64, error) {
	server := inside(ctx, right, cl.Rocelens, "softmetaroce", "serve", "--listen", rightTen, "--json")
	if err := started(server, "serving", false); err != nil {
		return 0, err
	}
	args := append([]string{
		"softmetaroce", "send", "--to", rightTen, "--json", "--size", cl.Size, "--mtu", strconv.Itoa(cl.MTU), "--paths", strconv.Itoa(cl.Paths),
	}, cl.Arguments...)
	text, err := inside(ctx, left, cl.Rocelens, args...).Output()
	if err := errors.Join(err, server.Process.Signal(os.Interrupt), server.Wait()); err != nil {
		return 0, fmt.Errorf("softmetaroce: %w: %s", err, text)
	}
	var r struct {
		Goodput float64 `json:"goodput"`
		Equal   bool    `json:"equal"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return 0, fmt.Errorf("softmetaroce: %w", err)
	}
	if !r.Equal {
		return 0, errors.New("softmetaroce: what has landed differs")
	}
	return r.Goodput, nil
}

// inside is a command in a namespace, which ends when the context does.
func inside(ctx context.Context, namespace, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", namespace, name}, args...)...) //nolint:gosec // our own words
}

// started starts a command and waits until it says the word on its standard output or error.
func started(c *exec.Cmd, word string, onOutput bool) error {
	pipe, err := c.StderrPipe()
	if onOutput {
		pipe, err = c.StdoutPipe()
	}
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.Args[4], err)
	}
	var said []byte
	b := make([]byte, 512)
	for !bytes.Contains(said, []byte(word)) {
		n, err := pipe.Read(b)
		if err != nil {
			return fmt.Errorf("%s ended at once: %s", c.Args[4], said)
		}
		said = append(said, b[:n]...)
	}
	go io.Copy(io.Discard, pipe) //nolint:errcheck // until Wait closes it
	return nil
}

func call(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // our own words
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
