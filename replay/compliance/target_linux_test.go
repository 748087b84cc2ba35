package compliance_test

import (
	"context"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/compliance"
	"github.com/rocelens/rocelens/replay/softmetaroce"
)

var networks atomic.Uint32

// network is a /24 of this host that no other test uses, nor another process that tests at the same time.
func network() [3]byte {
	n := uint32(os.Getpid())<<9 + networks.Add(1)
	return [3]byte{127, 91 + byte(n>>8%150), byte(n)}
}

func host(n [3]byte, i byte) netip.Addr { return netip.AddrFrom4([4]byte{n[0], n[1], n[2], i}) }

// serve runs what `rocelens softmetaroce serve` runs, at that address, until the test ends.
func serve(t *testing.T, address netip.Addr, change func(c *softmetaroce.Config)) {
	t.Helper()
	config := softmetaroce.DefaultConfig()
	config.Addresses = []netip.Addr{address}
	config.LinkRate = 20 // Mbit/s, which the suite can fill
	if change != nil {
		change(&config)
	}
	server, err := softmetaroce.NewServer(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

// examine runs scenarios against that address.
func examine(t *testing.T, target, local netip.Addr, change func(c *compliance.Config)) *compliance.Report {
	t.Helper()
	c := config(target, local)
	if change != nil {
		change(&c)
	}
	report, err := compliance.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// config runs all against the target.
func config(target, local netip.Addr) compliance.Config {
	return compliance.Config{
		Target: netip.AddrPortFrom(target, mr0.Port), Local: local, Timeout: compliance.DefaultTimeout, PartitionKey: 0xffff, Seed: 1,
		Scenarios: compliance.Scenarios(),
	}
}
