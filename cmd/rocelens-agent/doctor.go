package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/doctor"
)

// doctorCommand examines an interface.
type doctorCommand struct {
	Interface string        `arg:"" help:"Network interface to examine."`
	Send      bool          `help:"Prove it with a packet that is sent: an ACK of RoCEv2 between addresses that no host has, for one hop. Otherwise it waits for any RDMA packet."`
	Wait      time.Duration `default:"5s" help:"For that packet, up to 10m (${default})."`
	JSON      bool          `help:"Print the report as one JSON document."`
}

const maxWait = 10 * time.Minute

// errCannotCapture makes the exit code 1; the report has said the rest.
var errCannotCapture = errors.New("")

// Run examines, prints, and fails when the interface cannot be captured on.
func (c *doctorCommand) Run(ctx context.Context, out io.Writer) error {
	if c.Wait <= 0 || c.Wait > maxWait {
		return fmt.Errorf("--wait must be above 0 and up to %s", maxWait)
	}
	report, err := doctor.Examine(ctx, doctor.Options{
		Interface: c.Interface, Send: c.Send, Wait: c.Wait, Sysfs: "/sys", Status: "/proc/self/status",
	})
	if err != nil {
		return err
	}
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.Print(out)
	}
	if err == nil && !report.CanCapture {
		return errCannotCapture
	}
	return err
}
