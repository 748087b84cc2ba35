package portstat_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/portstat"
)

// recorded makes the files that testdata lists, and returns the directory that they are in.
func recorded(t *testing.T, list string) string {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join("testdata", list))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for line := range strings.Lines(string(lines)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		path, content, file := strings.Cut(line, " = ")
		target := ""
		if !file {
			path, target, _ = strings.Cut(line, " -> ")
		}
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if file {
			err = os.WriteFile(path, []byte(content+"\n"), 0o600)
		} else {
			err = os.Symlink(target, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// set changes a counter.
func set(t *testing.T, root, path string, n uint64) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, path), []byte(strconv.FormatUint(n, 10)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, values []portstat.Value, k portstat.Key) portstat.Value {
	t.Helper()
	i := slices.IndexFunc(values, func(v portstat.Value) bool { return v.Key == k })
	if i < 0 {
		t.Fatalf("%+v is absent", k)
	}
	return values[i]
}

func silent(string) ([]portstat.Value, error) { return nil, errors.ErrUnsupported }

func count(values []portstat.Value) map[portstat.Source]int {
	n := map[portstat.Source]int{}
	for _, v := range values {
		n[v.Source]++
	}
	return n
}

func TestPortOfMLX5(t *testing.T) {
	root := recorded(t, "mlx5.txt")
	r := portstat.NewReaderAt(root, "eth2", func(name string) ([]portstat.Value, error) {
		return []portstat.Value{{Key: portstat.Key{Source: portstat.Driver, Name: "rx_prio3_pause"}, Number: 5, HasNumber: name == "eth2"}}, nil
	})
	values, ports := r.Read()
	if want := []portstat.RDMA{{Device: "mlx5_0", Port: 1}}; !cmp.Equal(ports, want) {
		t.Fatalf("RDMA ports %v, want %v", ports, want)
	}
	if got, want := count(values), map[portstat.Source]int{portstat.Port: 21, portstat.Hardware: 29, portstat.Interface: 24, portstat.Driver: 1, portstat.Setting: 41}; !cmp.Equal(got, want) {
		t.Errorf("by source %v, want %v", got, want)
	}
	hardware := func(name string) portstat.Key {
		return portstat.Key{Source: portstat.Hardware, Device: "mlx5_0", Port: 1, Name: name}
	}
	if v := find(t, values, hardware("np_cnp_sent")); v.Number != 88123 || v.HasDelta {
		t.Errorf("at first %+v, want 88123 and no difference to anything", v)
	}
	for name, want := range map[string]string{
		"ecn/roce_np/cnp_dscp": "48", "ecn/roce_rp/enable/3": "1", "qos/trust": "dscp",
	} {
		if v := find(t, values, portstat.Key{Source: portstat.Setting, Name: name}); v.Text != want || v.HasDelta {
			t.Errorf("%s is %+v, want %s", name, v, want)
		}
	}
	of := portstat.Key{Source: portstat.Setting, Device: "mlx5_0", Port: 1}
	of.Name = "rdma_cm/default_roce_tos"
	if v := find(t, values, of); v.Number != 106 || !v.HasNumber {
		t.Errorf("type of service %+v", v)
	}
	of.Name = "cc_params/np_cnp_dscp"
	find(t, values, of)

	// A counter that goes on, one that goes back, one that goes away and comes again.
	counters := "sys/class/infiniband/mlx5_0/ports/1/hw_counters/"
	set(t, root, counters+"np_cnp_sent", 88200)
	set(t, root, counters+"out_of_sequence", 4)
	if err := os.Remove(filepath.Join(root, counters, "packet_seq_err")); err != nil {
		t.Fatal(err)
	}
	values, _ = r.Read()
	if v := find(t, values, hardware("np_cnp_sent")); v.Delta != 77 || !v.HasDelta {
		t.Errorf("went on: %+v, want 77 more", v)
	}
	if v := find(t, values, hardware("rp_cnp_handled")); v.Delta != 0 || !v.HasDelta {
		t.Errorf("stood still: %+v, want 0 more", v)
	}
	if v := find(t, values, hardware("out_of_sequence")); v.Number != 4 || v.HasDelta {
		t.Errorf("went back: %+v, want 4 and an unknown difference", v)
	}
	set(t, root, counters+"packet_seq_err", 9000)
	values, _ = r.Read()
	if v := find(t, values, hardware("packet_seq_err")); v.Number != 9000 || v.HasDelta {
		t.Errorf("came again: %+v, want an unknown difference", v)
	}
}

func TestPortOfBnxtRe(t *testing.T) {
	r := portstat.NewReaderAt(recorded(t, "bnxt_re.txt"), "ens1f0np0", silent)
	values, ports := r.Read()
	if want := []portstat.RDMA{{Device: "bnxt_re0", Port: 1}}; !cmp.Equal(ports, want) {
		t.Fatalf("RDMA ports %v, want %v", ports, want)
	}
	if v := find(t, values, portstat.Key{Source: portstat.Hardware, Device: "bnxt_re0", Port: 1, Name: "rx_roce_discards"}); v.Number != 7 {
		t.Errorf("%+v", v)
	}
	if v := find(t, values, portstat.Key{Source: portstat.Setting, Device: "bnxt_re0", Port: 1, Name: "bnxt_re/cc/ecn_marking"}); v.Number != 2 || v.Text != "0x2" {
		t.Errorf("%+v", v)
	}
	if n := count(values)[portstat.Port]; n != 1 {
		t.Errorf("%d counters, want the one that is a number and not the one that is not available", n)
	}
}

func TestSoftDeviceIsTold(t *testing.T) {
	values, ports := portstat.NewReaderAt(recorded(t, "mlx5.txt"), "eth9", silent).Read()
	if want := []portstat.RDMA{{Device: "rxe0", Port: 1, Soft: true}}; !cmp.Equal(ports, want) {
		t.Fatalf("RDMA ports %v, want %v", ports, want)
	}
	find(t, values, portstat.Key{Source: portstat.Hardware, Device: "rxe0", Port: 1, Name: "rcvd_seq_err"})
}

func TestMachineWithoutAnything(t *testing.T) {
	values, ports := portstat.NewReaderAt(t.TempDir(), "eth0", silent).Read()
	if len(values) != 0 || len(ports) != 0 {
		t.Errorf("%v and %v, want nothing", values, ports)
	}
}

// lo is on every machine, and has no driver's counters.
func TestThisMachine(t *testing.T) {
	if _, err := os.Stat("/sys/class/net/lo/statistics/rx_bytes"); err != nil {
		t.Fatal(err)
	}
	values, ports := portstat.NewReader("lo").Read()
	if len(ports) != 0 {
		t.Errorf("lo has the RDMA ports %v", ports)
	}
	find(t, values, portstat.Key{Source: portstat.Interface, Name: "rx_bytes"})
	if n := count(values); n[portstat.Driver] != 0 || n[portstat.Setting] != 0 {
		t.Errorf("by source %v", n)
	}
}

func TestDriversCountersOfInterest(t *testing.T) {
	for name, want := range map[string]bool{
		"rx_prio3_pause": true, "tx_pause_ctrl_phy": true, "rx_discards_phy": true, "rx_out_of_buffer": true, "tx_pfc_frames": true,
		"rx_pfc_ena_frames_pri3": true, "rx_vport_rdma_unicast_packets": true, "rx_corrected_bits_phy": false,
		"rx0_xdp_drop": false, "[3]: rx_discards": false, "tx_queue_0_drops": false, "ch0_events": false, "rx_bytes": false,
	} {
		if portstat.Wanted(name) != want {
			t.Errorf("%s: %t, want %t", name, !want, want)
		}
	}
}
