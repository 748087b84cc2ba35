// Command capgen writes a capture of RDMA over Ethernet, made from a seed, and prints the truth about it as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/internal/capgen"
)

type commandLine struct {
	Seed          uint64   `default:"1" help:"Same seed, same bytes."`
	Packets       int      `default:"10000" help:"At least so many packets."`
	Connections   int      `default:"16" help:"Connections (queue pairs on each side)."`
	Service       string   `default:"rc" enum:"rc,uc,ud,xrc" help:"Transport service: rc, uc, ud, xrc."`
	Encapsulation []string `default:"ipv4" help:"What connections travel in, taking turns: ipv4, ipv6, rocev1, vlan, qinq, vxlan, erspan2, erspan3, srv6."`
	Link          string   `default:"ethernet" help:"What frames are captured on: ethernet, sll, sll2, erf."`
	MinMessage    int      `default:"65536" help:"Bytes of the smallest message."`
	MaxMessage    int      `default:"65536" help:"Bytes of the largest message."`
	PathMTU       int      `name:"path-mtu" default:"1024" help:"256, 512, 1024, 2048 or 4096."`
	Faults        float64  `default:"0" help:"Probability, 0 to 1, of each kind of fault in a burst."`
	Reads         bool     `help:"Mix in SENDs, READs and atomics."`
	Mirror        bool     `help:"Capture every packet twice."`
	Background    int      `help:"One packet of other protocols for so many of RDMA."`
	Sample        string   `help:"Write one of the sample captures in place of the above: ${samples}."`
	Out           string   `short:"o" required:"" help:"File to write, pcap or pcapng by its name; - is standard output."`
}

var services = map[string]infiniband.Service{
	"rc": infiniband.ServiceRC, "uc": infiniband.ServiceUC, "ud": infiniband.ServiceUD, "xrc": infiniband.ServiceXRC,
}

func main() {
	var cl commandLine
	parsed := kong.Parse(&cl, kong.Description("Make a capture of RDMA over Ethernet."),
		kong.Vars{"samples": strings.Join(capgen.SampleNames(), ", ")})
	parsed.FatalIfErrorf(cl.run())
}

func (cl *commandLine) run() (err error) {
	format := pcapfile.FormatPcap
	if filepath.Ext(cl.Out) == ".pcapng" {
		format = pcapfile.FormatPcapng
	}
	out, report := os.Stdout, io.Writer(os.Stderr)
	if cl.Out != "-" {
		if out, err = os.Create(cl.Out); err != nil {
			return fmt.Errorf("write capture: %w", err)
		}
		report = os.Stdout
		defer func() {
			if closed := out.Close(); err == nil {
				err = closed
			}
		}()
	}
	truth, err := cl.generate(out, format)
	if err != nil {
		return err
	}
	return json.NewEncoder(report).Encode(truth)
}

func (cl *commandLine) generate(w io.Writer, format pcapfile.Format) (capgen.Truth, error) {
	if cl.Sample != "" {
		return capgen.Sample(w, cl.Sample)
	}
	cfg := capgen.Default()
	cfg.Seed, cfg.Packets, cfg.Connections = cl.Seed, cl.Packets, cl.Connections
	cfg.Service = services[cl.Service]
	cfg.MinMessage, cfg.MaxMessage, cfg.PathMTU = cl.MinMessage, cl.MaxMessage, cl.PathMTU
	cfg.Mirror, cfg.Background = cl.Mirror, cl.Background
	link, err := capgen.ParseLink(cl.Link)
	if err != nil {
		return capgen.Truth{}, err
	}
	cfg.Link, cfg.Encapsulations = link, nil
	for _, name := range cl.Encapsulation {
		e, err := capgen.ParseEncapsulation(name)
		if err != nil {
			return capgen.Truth{}, err
		}
		cfg.Encapsulations = append(cfg.Encapsulations, e)
	}
	if cl.Reads {
		cfg.Mix = capgen.Mix{Write: 4, Send: 2, Read: 2, Atomic: 1}
	}
	f := cl.Faults
	cfg.Faults = capgen.Faults{
		LossBefore: f, LossAfter: f, Timeout: f, RNR: f, Reorder: f, Mark: f, Corrupt: f, ReadLoss: f, CaptureMiss: f,
	}
	return capgen.Generate(w, format, cfg)
}
