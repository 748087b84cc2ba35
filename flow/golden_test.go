package flow_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/flow"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// number prints a count, "?" when the capture cannot tell.
func number(c flow.Count) string {
	if !c.Known {
		return "?"
	}
	return strconv.FormatUint(c.N, 10)
}

// text is a result for people: a paragraph per record, then the flags of packets and the totals.
func text(r result) string {
	var b strings.Builder
	for i := range r.records {
		x := &r.records[i]
		pairing := [...]string{"none", "inferred", "datagram", "cm"}[x.Pairing]
		fmt.Fprintf(&b, "%s > %s %s QP 0x%x from QP %s, pairing %s, partner %t\n", x.Key.Source, x.Key.Destination, x.Key.Service,
			x.Key.DestinationQP, number(x.SourceQP), pairing, x.ReverseID != 0)
		if x.ServiceID.Known {
			fmt.Fprintf(&b, "  set up for %s\n", mad.ServiceID(x.ServiceID.N))
		}
		fmt.Fprintf(&b, "  packets %d to %d: %d, %d bytes, payload %d, goodput %s, MTU %s, VLAN %s, DSCP %s, port %s of %s", x.FirstNumber, x.LastNumber,
			x.Packets, x.Bytes, x.PayloadBytes, number(x.GoodputBytes), number(x.PathMTU), number(x.VLAN), number(x.DSCP),
			number(x.SourcePort), number(x.SourcePorts))
		if x.Tunnel != 0 {
			fmt.Fprintf(&b, ", %s %s > %s", x.Tunnel, x.OuterSource, x.OuterDestination)
		}
		fmt.Fprintf(&b, "\n  messages %s: %+v\n", number(x.Messages), x.Operations)
		fmt.Fprintf(&b, "  PSN %s to %s, gaps %s, missing %s (acknowledged %s)\n", number(x.FirstPSN), number(x.LastPSN), number(x.PSNGaps),
			number(x.MissingPSNs), number(x.MissingAcknowledged))
		fmt.Fprintf(&b, "  resent %s (NAK %s, RNR %s, time-out %s), out of order %s, duplicates %s, copies %d\n", number(x.Retransmitted),
			number(x.RetransmittedNAK), number(x.RetransmittedRNR), number(x.RetransmittedTimeout), number(x.OutOfOrder), number(x.Duplicates), x.MirrorCopies)
		fmt.Fprintf(&b, "  ACK %d, NAK %s, RNR %d (%d ns), CNP %d, CE %s of %s ECN-capable, ICRC %d good %d bad %d undetermined, port rewritten from %s, truncated %d malformed %d\n",
			x.Acks, codes(x.Naks), x.RNRNaks, x.RNRTimerMax, x.CNPs, number(x.CEMarked), number(x.ECTMarked), x.ICRCGood, x.ICRCBad,
			x.ICRCUndetermined, number(x.PortRewritten), x.Truncated, x.Malformed)
	}
	numbers := make([]uint64, 0, len(r.flags))
	for n := range r.flags {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		fmt.Fprintf(&b, "packet %d:%s\n", n, flagNames(r.flags[n]))
	}
	fmt.Fprintf(&b, "totals %+v\n", r.totals)
	return b.String()
}

func codes(naks [32]uint64) string {
	var out []string
	for code, n := range naks {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d×code %d", n, code))
		}
	}
	if out == nil {
		return "0"
	}
	return strings.Join(out, " ")
}

func flagNames(f flow.Flags) string {
	var out strings.Builder
	for i, name := range []string{
		"retransmitted", "after-NAK", "after-RNR", "after-timeout", "out-of-order", "duplicate", "mirror-copy", "gap-before", "ack-unseen",
	} {
		if f&(1<<i) != 0 {
			out.WriteString(" " + name)
		}
	}
	return out.String()
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s differs; got\n%s\nwant\n%s", path, got, want)
	}
}

// TestGolden tracks each capture of testdata and compares everything that came of it.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.pcap")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in testdata: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			compareGolden(t, strings.TrimSuffix(f, ".pcap")+".golden", text(track(t, flow.DefaultConfig(), readPcap(t, f))))
		})
	}
}

// publicCaptures were gone through by hand with tshark. Gaps of rocev1 and rocev1_test are the capture's: the
// receivers acknowledged what is missing and asked for nothing again. Acknowledgments of what was not seen
// stand where the capture shows both directions in the wrong order (nvme-discover) or ends (rc-small).
var publicCaptures = []string{
	"magnate3-linux-riscv-dev/rocev1.pcap", "magnate3-linux-riscv-dev/rocev1_test.pcap",
	"magnate3-linux-riscv-dev/ib_send_bw_over_roce.pcap", "magnate3-linux-riscv-dev/write.pcap",
	"magnate3-linux-riscv-dev/rdma.dump", "magnate3-linux-riscv-dev/send.pcap", "magnate3-linux-riscv-dev/dc-small.pcap",
	"magnate3-linux-riscv-dev/rc-small.pcap", "magnate3-linux-riscv-dev/uc-sg.pcap", "magnate3-linux-riscv-dev/ib2.pcap",
	"magnate3-linux-riscv-dev/nvme-discover.pcap", "magnate3-linux-riscv-dev/nvme-rdma-25echoTo27.pcap",
	"magnate3-linux-riscv-dev/nvme-rdma-idle.pcap", "magnate3-linux-riscv-dev/host-echo.dump", "oferby-proxy/roce.pcap",
}

func TestPublicCaptures(t *testing.T) {
	t.Parallel()
	for _, name := range publicCaptures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := track(t, flow.DefaultConfig(), readPcap(t, shared(t, name)))
			if r.totals.Retransmitted+r.totals.OutOfOrder+r.totals.MirrorCopies != 0 {
				t.Errorf("nothing was resent, reordered or copied in this capture: %+v", r.totals)
			}
			compareGolden(t, filepath.Join("testdata", "public", filepath.Base(name)+".golden"), text(r))
		})
	}
}
