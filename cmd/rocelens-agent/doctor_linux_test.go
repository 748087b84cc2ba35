package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/doctor"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// examine runs doctor as a process of its own at one end of a cable, behind a command that may take rights away.
func examine(t *testing.T, at vethtest.End, behind []string, args ...string) (report doctor.Report, code int) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	words := append([]string{"netns", "exec", at.Namespace}, behind...)
	command := exec.CommandContext(t.Context(), "ip", append(append(words, program, "doctor", "--json"), args...)...)
	command.Env = append(os.Environ(), "ROCELENS_TEST_AGENT=1")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	require.NoError(t, json.Unmarshal(out, &report), "%s%s", out, stderr.Bytes())
	assert.Empty(t, stderr.String())
	return report, code
}

// finding is what one check found.
func finding(t *testing.T, r *doctor.Report, check string) doctor.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check == check {
			return f
		}
	}
	require.Failf(t, "no finding", "%s in %+v", check, r)
	return doctor.Finding{}
}

func TestDoctorProvesCaptureWithOnePacket(t *testing.T) {
	_, right := vethtest.Pair(t)
	report, code := examine(t, right, nil, right.Interface, "--send", "--wait", "20s")
	assert.Zero(t, code, "%+v", report)
	assert.True(t, report.CanCapture)
	assert.Equal(t, "sent", report.Proof.Kind)
	assert.True(t, report.Proof.Seen)
	assert.Regexp(t, `^192\.0\.2\.1 > 192\.0\.2\.2 RoCEv2 RC ACK PSN=.* QP=0xfffffe`, report.Proof.Packet)
	assert.Equal(t, doctor.OK, finding(t, &report, "interface").State)
	assert.Contains(t, finding(t, &report, "driver").Says, "its driver is veth")
	assert.Equal(t, doctor.OK, finding(t, &report, "mtu").State)
	assert.Equal(t, doctor.OK, finding(t, &report, "rdma").State)
	assert.NotEmpty(t, report.Mirror)
}

// Without --send doctor sends nothing: it waits for packets of others, and the lack of these is no failure.
func TestDoctorListens(t *testing.T) {
	_, right := vethtest.Pair(t)
	report, code := examine(t, right, nil, right.Interface, "--wait", "10ms")
	assert.Zero(t, code)
	assert.True(t, report.CanCapture)
	assert.Equal(t, doctor.Proof{Kind: "listened"}, report.Proof)
	assert.Equal(t, doctor.Note, finding(t, &report, "proof").State)
}

// What doctor hears from a mirror it tells as such, and what is wrong with the mirror.
func TestDoctorTellsOfTheMirror(t *testing.T) {
	left, right := vethtest.Pair(t)
	request := exchange(t, 1)[0].frame
	for _, test := range []struct {
		name  string
		from  session
		state doctor.State
		says  string
	}{
		{"whole", session{from: "10.200.1.1", to: "10.200.1.2", wrap: erspan2}, doctor.OK, "it came in ERSPAN II from 10.200.1.1 to 10.200.1.2, the headers"},
		{"cut", session{from: "10.200.1.1", to: "10.200.1.2", wrap: erspan2, cut: 128}, doctor.Note, "cut short"},
		{"in fragments", session{from: "10.200.1.1", to: "10.200.1.2", wrap: erspan2, mtu: 576}, doctor.Note, "in IP fragments"},
		{"over MPLS", session{wrap: pseudowire}, doctor.OK, "it came in MPLS, the headers"},
	} {
		t.Run(test.name, func(t *testing.T) {
			stop, sending := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(sending)
				for {
					select {
					case <-stop:
						return
					case <-time.After(glance):
						left.Send(t, test.from.copies(0, request))
					}
				}
			}()
			report, code := examine(t, right, nil, right.Interface, "--wait", "20s")
			close(stop)
			<-sending
			assert.Zero(t, code, "%+v", report)
			mirror := finding(t, &report, "mirror")
			assert.Equal(t, test.state, mirror.State)
			assert.Contains(t, mirror.Says, test.says)
		})
	}
}

func TestDoctorSaysWhyNothingCanBeCaptured(t *testing.T) {
	_, right := vethtest.Pair(t)

	missing, code := examine(t, right, nil, "no-such-if")
	assert.Equal(t, exitFailure, code)
	assert.False(t, missing.CanCapture)
	assert.Equal(t, doctor.Problem, finding(t, &missing, "interface").State)

	barred, code := examine(t, right, []string{"setpriv", "--inh-caps", "-net_raw", "--bounding-set", "-net_raw"}, right.Interface, "--send")
	assert.Equal(t, exitFailure, code)
	assert.False(t, barred.CanCapture)
	rights := finding(t, &barred, "capabilities")
	assert.Equal(t, doctor.Problem, rights.State)
	assert.Contains(t, rights.Says, "missing: CAP_NET_RAW (for capturing at all)")
	assert.Contains(t, rights.Do, "setcap")
	assert.Contains(t, finding(t, &barred, "proof").Says, "a capture cannot be opened")

	right.Down(t)
	down, code := examine(t, right, nil, right.Interface)
	assert.Equal(t, exitFailure, code)
	assert.False(t, down.CanCapture)
	assert.Contains(t, finding(t, &down, "interface").Do, "ip link set "+right.Interface+" up")
}

func TestDoctorPrintsForPeople(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitFailure, run(t.Context(), []string{"doctor", "no-such-if"}, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "no-such-if cannot be captured on\n\nproblem  interface     there is no such network interface.\n")
	assert.Empty(t, stderr.String())
	assert.Equal(t, exitFailure, run(t.Context(), []string{"doctor", "lo", "--wait", "0s"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "--wait must be above 0")
}
