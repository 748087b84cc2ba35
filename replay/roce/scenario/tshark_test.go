package scenario_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// sample writes a capture of a run with a bit of everything.
func sample(t *testing.T) (path string, frames int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sample.pcap")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	w, err := pcapfile.NewWriter(out, pcapfile.FormatPcap, pcapfile.WriterOptions{Nanosecond: true})
	if err != nil {
		t.Fatal(err)
	}
	c := scenario.DefaultConfig()
	c.Connections, c.Clients, c.Servers, c.BothWays, c.Handshake, c.NearWrap = 4, 2, 2, true, true, true
	c.Start = time.Duration(1_790_000_000) * time.Second
	c.Loss, c.MarkChance, c.Duplicate, c.ReceiveAhead, c.Unready = 0.01, 0.01, 0.001, 2, 0.1
	c.Tap = func(f scenario.Frame) {
		if err := w.WriteFrame(&capture.Frame{Data: f.Data, Time: int64(f.Time), HasTime: true}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := scenario.New(c)
	if err != nil {
		t.Fatal(err)
	}
	result := r.Go()
	if !result.Finished || len(result.Faults)+len(result.Errors) > 0 {
		t.Fatalf("%+v", result)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path, result.Frames
}

// Wireshark reads every packet of a run, and complains of none.
func TestTsharkReadsEveryPacket(t *testing.T) {
	program, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	path, frames := sample(t)
	out, err := exec.CommandContext(t.Context(), program, "-n", "-r", path,
		"--disable-protocol", "rpcordma", // which guesses at random payload
		"-T", "fields", "-E", "separator=|",
		"-e", "infiniband.bth.opcode", "-e", "_ws.malformed", "-e", "_ws.expert.message", "-e", "ip.checksum.status",
		"-o", "ip.check_checksum:TRUE").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(out)) {
		lines++
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 || cells[0] == "" || cells[1] != "" || cells[2] != "" || cells[3] != "1" {
			t.Errorf("packet %d: %q", lines, line)
		}
		if lines > 5 && t.Failed() {
			t.FailNow()
		}
	}
	if lines != frames {
		t.Errorf("tshark has %d packets, the tap saw %d", lines, frames)
	}
}
