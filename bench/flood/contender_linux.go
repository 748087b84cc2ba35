package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// contender is a program that captures at the receiving end.
type contender struct {
	name  string
	args  []string
	ready string                               // what it prints when it captures
	count func(printed []byte) (uint64, error) // packets that it says it captured
}

// contenders have rings of one size, 32 MiB, and write what they capture nowhere; the agent decodes and tracks it.
func contenders(agent string) []contender {
	tier := func(name string, flags ...string) contender {
		args := append([]string{agent, "run", "--interface", to, "--interval", "1s", "--no-counters"}, flags...)
		return contender{"agent, " + name, args, `"type":"interval"`, lastInterval}
	}
	return []contender{
		tier("packet tier", "--tier", "packet"),
		tier("packet tier, --replay", "--tier", "packet", "--replay"),
		tier("packet tier, headers", "--tier", "packet", "--capture", "headers"),
		tier("kernel tier", "--tier", "kernel"),
		{"tcpdump -w /dev/null", []string{"tcpdump", "-i", to, "-B", "32768", "-w", "/dev/null"}, "listening on", number(`(\d+) packets? captured`)},
		{"dumpcap -w /dev/null", []string{"dumpcap", "-i", to, "-B", "32", "-q", "-w", "/dev/null"}, "File: ", number(`Packets captured: (\d+)`)},
	}
}

func (c *contender) installed() bool {
	_, err := exec.LookPath(c.args[0])
	return err == nil
}

// lastInterval is how many packets of RDMA the agent has seen, by the last line that it printed.
func lastInterval(printed []byte) (uint64, error) {
	for _, text := range slices.Backward(bytes.Split(bytes.TrimSpace(printed), []byte("\n"))) {
		var line struct {
			Type   string `json:"type"`
			Totals struct {
				RDMA uint64 `json:"rdma_packets"`
			} `json:"totals"`
		}
		if json.Unmarshal(text, &line) == nil && line.Type == "interval" {
			return line.Totals.RDMA, nil
		}
	}
	return 0, fmt.Errorf("no account of an interval in %q", printed)
}

func number(pattern string) func([]byte) (uint64, error) {
	expression := regexp.MustCompile(pattern)
	return func(printed []byte) (uint64, error) {
		found := expression.FindSubmatch(printed)
		if found == nil {
			return 0, fmt.Errorf("no %s in %q", pattern, printed)
		}
		return strconv.ParseUint(string(found[1]), 10, 64)
	}
}

// watch runs it while something happens, and tells how many packets it captured, and what processor time it and its children took.
func (c *contender) watch(ctx context.Context, during func() error) (packets uint64, spent time.Duration, err error) {
	command := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", right}, c.args...)...) //nolint:gosec // the contenders are listed above
	printed := output{word: []byte(c.ready), said: make(chan struct{})}
	command.Stdout, command.Stderr = &printed, &printed
	if err := command.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case <-printed.said:
	case err := <-ended:
		return 0, 0, fmt.Errorf("it ended at once: %w: %s", err, printed.bytes())
	}
	err = during()
	const drain = 500 * time.Millisecond // in which it reads what its ring still holds
	err = errors.Join(err, pause(ctx, drain), command.Process.Signal(os.Interrupt), <-ended)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, printed.bytes())
	}
	packets, err = c.count(printed.bytes())
	return packets, command.ProcessState.UserTime() + command.ProcessState.SystemTime(), err
}

// output keeps what is printed, and tells when a word was.
type output struct {
	mutex sync.Mutex
	text  []byte
	word  []byte
	said  chan struct{}
	heard bool
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.text = append(o.text, p...)
	if !o.heard && bytes.Contains(o.text, o.word) {
		o.heard = true
		close(o.said)
	}
	return len(p), nil
}

func (o *output) bytes() []byte {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text
}
