package compliance_test

import (
	"context"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/internal/vethtest"
	"github.com/rocelens/rocelens/replay/compliance"
	"github.com/rocelens/rocelens/replay/softmetaroce"
)

// What is served passes all from one network namespace to another, and over IPv6.
func TestServePassesAllOverNetworks(t *testing.T) {
	t.Parallel()
	left, right := vethtest.Pair(t)
	for _, words := range []string{
		left.Namespace + " address add 10.98.0.1/24 dev " + left.Interface, right.Namespace + " address add 10.98.0.2/24 dev " + right.Interface,
		left.Namespace + " address add fd98::1/64 nodad dev " + left.Interface, right.Namespace + " address add fd98::2/64 nodad dev " + right.Interface,
		left.Namespace + " address add fd98:1::1/128 nodad dev lo",
	} {
		if out, err := exec.CommandContext(t.Context(), "ip", append([]string{"-n"}, strings.Fields(words)...)...).CombinedOutput(); err != nil {
			t.Fatalf("ip -n %s: %s", words, out)
		}
	}
	for name, c := range map[string]struct {
		suite, target string
		at            vethtest.End // of the target
	}{
		"IPv4 over veth":     {"10.98.0.1", "10.98.0.2", right},
		"IPv6 over veth":     {"fd98::1", "fd98::2", right},
		"IPv6 over loopback": {"::1", "fd98:1::1", left},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, local := netip.MustParseAddr(c.target), netip.MustParseAddr(c.suite)
			ctx, stop := context.WithCancel(t.Context())
			bound := make(chan *softmetaroce.Server, 1)
			served := c.at.Go(t, func() {
				settings := softmetaroce.DefaultConfig()
				settings.Addresses, settings.LinkRate = []netip.Addr{target}, 20
				server, err := softmetaroce.NewServer(settings, nil)
				bound <- server
				if err == nil {
					err = server.Serve(ctx)
				}
				if err != nil {
					t.Errorf("serve: %v", err)
				}
			})
			<-bound
			<-left.Go(t, func() {
				report, err := compliance.Run(t.Context(), config(target, local))
				if err != nil {
					t.Error(err)
					return
				}
				expectAll(t, report)
			})
			stop()
			<-served
		})
	}
}
