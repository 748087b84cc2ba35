package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Version of the report's JSON form. Fields are added without a new one.
const Version = 1

// State says what a finding means.
type State string

// States of findings.
const (
	OK      State = "ok"
	Note    State = "note"    // limits what is seen
	Problem State = "problem" // nothing can be captured
	Unknown State = "unknown" // the kernel or the driver does not tell
)

// Finding is the outcome of one check.
type Finding struct {
	Check string `json:"check"` // "interface", "driver", "mtu", "rdma", "capabilities", "kernel", "xdp", "timestamps", "ring", "offloads", "sniffer", "proof", "mirror"
	State State  `json:"state"`
	Says  string `json:"says"`         // one sentence
	Do    string `json:"do,omitempty"` // what to do about it, one sentence
}

// Way is how packets that the kernel does not see are brought to where it does.
type Way struct {
	Name     string   `json:"name"`
	When     string   `json:"when"`
	Commands []string `json:"commands,omitempty"`
}

// Proof is what one packet showed.
type Proof struct {
	Kind   string `json:"kind"` // "sent", "listened", or "none" where nothing can be captured
	Seen   bool   `json:"seen"`
	Packet string `json:"packet,omitempty"` // in one line, as it was decoded
}

// Report is all that was found about an interface.
type Report struct {
	Version    int       `json:"version"`
	Interface  string    `json:"interface"`
	CanCapture bool      `json:"can_capture"`
	Findings   []Finding `json:"findings"`
	Mirror     []Way     `json:"mirror"`
	Proof      Proof     `json:"proof"`
}

func (r *Report) add(check string, state State, says, do string) {
	r.Findings = append(r.Findings, Finding{check, state, says, do})
}

// Print writes the report for people.
func (r *Report) Print(out io.Writer) error {
	var b strings.Builder
	verdict := "can be captured on"
	if !r.CanCapture {
		verdict = "cannot be captured on"
	}
	fmt.Fprintf(&b, "%s %s\n\n", r.Interface, verdict)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-8s %-13s %s.\n", f.State, f.Check, f.Says)
		if f.Do != "" {
			fmt.Fprintf(&b, "%-8s %-13s > %s.\n", "", "", f.Do)
		}
	}
	if r.Proof.Packet != "" {
		fmt.Fprintf(&b, "\nOne packet, as it was captured:\n  %s\n", r.Proof.Packet)
	}
	if len(r.Mirror) > 0 {
		fmt.Fprint(&b, "\nHow to bring packets here that this interface does not show:\n")
	}
	for _, w := range r.Mirror {
		fmt.Fprintf(&b, "- %s: %s\n", w.Name, w.When)
		for _, c := range w.Commands {
			fmt.Fprintf(&b, "    %s\n", c)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
