package softmetaroce

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

var hosts atomic.Uint32

// loopback is an address of this host that no other test uses.
func loopback() netip.Addr {
	n := hosts.Add(1)
	return netip.AddrFrom4([4]byte{127, 77, byte(n >> 8), byte(n)})
}

// run is a transfer between two peers of this process.
type run struct {
	transfer       Transfer
	change         func(side int, c *Config) // 0: the client
	client, server netip.Addr
	planes         [2][]netip.Addr // when set, the addresses of each side in each plane
	watch          func(c *Client) // when set, is told of the client before it runs
	// in runs what opens a side's sockets and its loop; nil: a goroutine.
	in [2]func(fn func()) <-chan struct{}
}

func spawn(fn func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	return done
}

// do runs it and returns both reports.
func (r *run) do(t *testing.T) (client, server *Report, err error) {
	t.Helper()
	if !r.client.IsValid() {
		r.client, r.server = loopback(), loopback()
	}
	planes := r.planes
	if planes[0] == nil {
		planes = [2][]netip.Addr{{r.client}, {r.server}}
	}
	configs := [2]Config{DefaultConfig(), DefaultConfig()}
	for i := range configs {
		configs[i].Seed = uint64(i + 1)
		configs[i].Addresses = planes[i]
		if r.change != nil {
			r.change(i, &configs[i])
		}
		if r.in[i] == nil {
			r.in[i] = spawn
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var lock sync.Mutex
	ready, reported := make(chan struct{}), make(chan struct{}, 1)
	served := r.in[1](func() {
		s, err := NewServer(configs[1], func(got *Report) {
			lock.Lock()
			defer lock.Unlock()
			server = got
			reported <- struct{}{}
		})
		close(ready)
		if err != nil {
			t.Errorf("server: %v", err)
			return
		}
		if err := s.Serve(ctx); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	<-ready
	<-r.in[0](func() {
		var c *Client
		if c, err = NewClient(configs[0], r.transfer, planes[1]...); err == nil {
			if r.watch != nil {
				r.watch(c)
			}
			client, err = c.Run(ctx)
		}
	})
	if err == nil {
		select {
		case <-reported:
		case <-served:
		}
	}
	stop()
	<-served
	lock.Lock()
	defer lock.Unlock()
	return client, server, err
}

// must runs it and fails unless the data has arrived.
func (r *run) must(t *testing.T) (client, server *Report) {
	t.Helper()
	client, server, err := r.do(t)
	if err != nil {
		t.Fatalf("transfer: %v", err)
	}
	if server == nil {
		t.Fatal("the server has reported nothing")
	}
	for _, report := range []*Report{client, server} {
		if !report.Equal || report.Error != "" {
			t.Errorf("%s: equal %v, error %q, %s, peer %s", report.Role, report.Equal, report.Error, report.Digest, report.PeerDigest)
		}
	}
	return client, server
}
