package softmetaroce

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// plane is one of several cables between the two namespaces.
type plane struct {
	left, right string // interfaces
	addresses   [2]netip.Addr
}

// bits of the prefix of a plane.
func (p *plane) bits() int {
	if p.addresses[0].Is4() {
		return 24
	}
	return 64
}

// addPlanes lays more cables, each with a network of its own, until there are so many in all.
func (c *cable) addPlanes(t *testing.T, n int, six bool) []plane {
	t.Helper()
	planes := []plane{{left: c.left.Interface, right: c.right.Interface, addresses: [2]netip.Addr{left4, right4}}}
	if six {
		planes[0].addresses = [2]netip.Addr{left6, right6}
	}
	for i := 1; i < n; i++ {
		p := plane{left: fmt.Sprintf("%s.%d", c.left.Interface, i), right: fmt.Sprintf("%s.%d", c.right.Interface, i)}
		for side := range p.addresses {
			p.addresses[side] = netip.AddrFrom4([4]byte{10, 99, byte(i), byte(1 + side)})
			if six {
				p.addresses[side] = netip.MustParseAddr(fmt.Sprintf("fd99:0:0:%x::%d", i, 1+side))
			}
		}
		command(t, "ip", "link", "add", p.left, "netns", c.left.Namespace, "type", "veth", "peer", "name", p.right, "netns", c.right.Namespace)
		for side, device := range []string{p.left, p.right} {
			space := []string{c.left.Namespace, c.right.Namespace}[side]
			command(t, "ip", "-n", space, "link", "set", device, "mtu", "9000", "up")
			// The kernel asks for a neighbour once a second, which is longer than the transfers take.
			for _, table := range []string{"arp_cache", "ndisc_cache"} {
				command(t, "ip", "-n", space, "ntable", "change", "name", table, "dev", device, "retrans", "10")
			}
			c.address(t, &p, side)
		}
		planes = append(planes, p)
	}
	return planes
}

// address gives an end of a plane its address, again if need be.
func (c *cable) address(t *testing.T, p *plane, side int) {
	t.Helper()
	args := []string{
		"-n", []string{c.left.Namespace, c.right.Namespace}[side], "address", "replace",
		fmt.Sprintf("%s/%d", p.addresses[side], p.bits()), "dev", []string{p.left, p.right}[side],
	}
	if p.bits() == 64 {
		args = append(args, "nodad")
	}
	command(t, "ip", args...)
}

// passed is how many bytes the interface at the left end of a plane has sent and received.
func (c *cable) passed(t *testing.T, p *plane) (out, in uint64) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "ip", "-n", c.left.Namespace, "-j", "-s", "link", "show", "dev", p.left).Output()
	if err != nil {
		t.Errorf("counters of %s: %v", p.left, err)
		return 0, 0
	}
	var links []struct {
		Stats64 struct {
			RX struct{ Bytes uint64 }
			TX struct{ Bytes uint64 }
		}
	}
	if err := json.Unmarshal(text, &links); err != nil || len(links) != 1 {
		t.Errorf("counters of %s: %v: %s", p.left, err, text)
		return 0, 0
	}
	return links[0].Stats64.TX.Bytes, links[0].Stats64.RX.Bytes
}

// over runs a transfer over the planes.
func (c *cable) over(t *testing.T, planes []plane, r *run) *run {
	t.Helper()
	c.place(t, r, false)
	for side := range r.planes {
		for _, p := range planes {
			r.planes[side] = append(r.planes[side], p.addresses[side])
		}
	}
	return r
}

// Several NIC ports are planes, and each carries its part, in whichever direction the data goes.
func TestTransfersOverSeveralPlanes(t *testing.T) {
	c := newCable(t)
	for _, six := range []bool{false, true} {
		planes := c.addPlanes(t, 3, six)
		for _, operation := range []string{"write", "send", "read"} {
			t.Run(fmt.Sprintf("%s/v6=%v", operation, six), func(t *testing.T) {
				const size = 12 << 20
				before := make([]uint64, len(planes))
				carried := func(i int) uint64 {
					out, in := c.passed(t, &planes[i])
					if operation == "read" {
						return in
					}
					return out
				}
				for i := range planes {
					before[i] = carried(i)
				}
				client, server := c.over(t, planes, &run{
					transfer: Transfer{Operation: operation, Size: size, Message: 1 << 16, Streams: 4, Depth: 4, Seed: 5},
					change:   func(_ int, config *Config) { config.Paths = 6 },
				}).must(t)
				for i := range planes {
					if got := carried(i) - before[i]; got < size/6 {
						t.Errorf("plane %d carried %d of %d bytes", i, got, size)
					}
				}
				if n := client.Sockets.SendErrors + server.Sockets.SendErrors; n > 0 {
					t.Errorf("%d datagrams were not sent", n)
				}
			})
		}
		for i := range planes[1:] { // the next round lays its own
			command(t, "ip", "-n", c.left.Namespace, "link", "delete", planes[1+i].left)
		}
	}
}

// A plane whose interface goes down in the middle of a transfer is left, and used again when it is back. With IPv6 its
// address is gone with it.
func TestPlaneGoesDownAndComesBack(t *testing.T) {
	for _, six := range []bool{false, true} {
		for side, end := range []string{"client", "server"} {
			t.Run(fmt.Sprintf("of the %s/v6=%v", end, six), func(t *testing.T) {
				c := newCable(t)
				planes := c.addPlanes(t, 2, six)
				dead := &planes[1]
				space, device := []string{c.left.Namespace, c.right.Namespace}[side], []string{dead.left, dead.right}[side]
				var down, up uint64
				var watched <-chan struct{}
				client, _ := c.over(t, planes, &run{
					transfer: Transfer{Operation: "write", Size: 32 << 20, Message: 1 << 16, Streams: 2, Depth: 16, Seed: 1},
					change: func(side int, config *Config) {
						config.Paths, config.RTOMax = 4, 20*time.Millisecond
						if side == 0 { // at most 64 MB/s, so that the transfer outlasts what happens
							config.Impairment.Delay, config.MaxWindow = time.Millisecond, 8
						}
					},
					watch: func(client *Client) {
						reach := func(bytes uint64) {
							for client.Live().Done.Load() < bytes && t.Context().Err() == nil {
								runtime.Gosched()
							}
						}
						watched = spawn(func() {
							reach(2 << 20)
							command(t, "ip", "-n", space, "link", "set", device, "down")
							down, _ = c.passed(t, dead)
							reach(12 << 20)
							up, _ = c.passed(t, dead)
							command(t, "ip", "-n", space, "link", "set", device, "up")
							c.address(t, dead, side)
						})
					},
				}).must(t)
				<-watched
				s := client.Connection.Transport
				if s.PathFailures < 2 || s.Moved == 0 || s.Probes == 0 || s.Repaths < 2 {
					t.Errorf("%+v", s)
				}
				if side == 0 && up-down > 1<<16 {
					t.Errorf("the dead plane carried %d bytes", up-down)
				}
				if end, _ := c.passed(t, dead); end-up < 2<<20 {
					t.Errorf("the plane that was back carried %d bytes", end-up)
				}
			})
		}
	}
}
