package scenario_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/roce"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

func mustRun(t *testing.T, c scenario.Config) scenario.Result {
	t.Helper()
	r, err := scenario.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r.Go()
}

func opcodeOf(t *testing.T, frame []byte) infiniband.Opcode {
	t.Helper()
	f, err := scenario.Describe(frame)
	if err != nil {
		t.Fatal(err)
	}
	return f.BTH.Opcode
}

// A frame that is described and built again is the same, of whatever kind it is.
func TestEditWithoutChange(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		c := scenario.DefaultConfig()
		c.Handshake, c.MarkChance, c.BothWays, c.Loss, c.IPv6 = true, 0.05, true, 0.02, ipv6
		c.Tap = func(f scenario.Frame) {
			got, err := scenario.Edit(f.Data, func(*build.Frame) {})
			if err != nil || !bytes.Equal(got, f.Data) {
				t.Fatalf("%v\n%x\nbecame\n%x", err, f.Data, got)
			}
		}
		mustRun(t, c)
	}
}

// Two runs with one seed are the same, another seed's is another.
func TestRunsRepeat(t *testing.T) {
	record := func(seed uint64) []byte {
		c := scenario.DefaultConfig()
		c.Seed, c.Loss, c.MarkChance, c.BothWays, c.Connections, c.Late = seed, 0.02, 0.02, true, 3, 0.01
		c.QP.SelectiveRepeat = true
		var all []byte
		c.Tap = func(f scenario.Frame) { all = append(append(all, byte(f.Time)), f.Data...) }
		mustRun(t, c)
		return all
	}
	first := record(5)
	if !bytes.Equal(first, record(5)) {
		t.Error("one seed gives two runs")
	}
	if bytes.Equal(first, record(6)) {
		t.Error("two seeds give one run")
	}
}

// What hooks alter, drop, delay, double and add is on the wire, and reaches the other end.
func TestHooks(t *testing.T) {
	tests := []struct {
		name string
		set  func(*scenario.Config)
		ok   func(scenario.Result, map[infiniband.Opcode]int) bool
	}{
		{"drop the first ACK", func(c *scenario.Config) {
			dropped := false
			c.Egress = func(_ time.Duration, h *scenario.Host, frame []byte) []scenario.Delayed {
				if h.Server && !dropped && opcodeOf(t, frame).IsAck() {
					dropped = true
					return nil
				}
				return scenario.Pass(frame)
			}
		}, func(r scenario.Result, seen map[infiniband.Opcode]int) bool {
			return len(r.Errors) == 0 && seen[infiniband.RCAcknowledge] == 1 && seen[infiniband.RCWriteOnly] == 2
		}},
		{"drop what comes in", func(c *scenario.Config) {
			c.QP.RetryCount = 2
			c.Ingress = func(_ time.Duration, h *scenario.Host, frame []byte) []scenario.Delayed {
				if h.Server {
					return nil
				}
				return scenario.Pass(frame)
			}
		}, func(r scenario.Result, seen map[infiniband.Opcode]int) bool {
			return len(r.Errors) > 0 && errors.Is(r.Errors[0], roce.ErrRetryExceeded) && seen[infiniband.RCWriteOnly] == 3 && r.Finished
		}},
		{"double and delay", func(c *scenario.Config) {
			c.Egress = func(_ time.Duration, _ *scenario.Host, frame []byte) []scenario.Delayed {
				return []scenario.Delayed{{Data: frame}, {After: time.Millisecond, Data: frame}}
			}
		}, func(r scenario.Result, seen map[infiniband.Opcode]int) bool {
			// The copy of the request is answered, and each answer doubled.
			return len(r.Errors) == 0 && seen[infiniband.RCWriteOnly] == 2 && seen[infiniband.RCAcknowledge] == 4
		}},
		{"alter", func(c *scenario.Config) {
			c.Egress = func(_ time.Duration, h *scenario.Host, frame []byte) []scenario.Delayed {
				if !h.Server {
					return scenario.Pass(frame)
				}
				changed, err := scenario.Edit(frame, func(f *build.Frame) { f.AETH.Syndrome = 0x61 })
				if err != nil {
					t.Fatal(err)
				}
				return scenario.Pass(changed)
			}
		}, func(r scenario.Result, _ map[infiniband.Opcode]int) bool {
			return len(r.Errors) > 0 && errors.Is(r.Errors[0], roce.ErrInvalidRequest)
		}},
		{"add", func(c *scenario.Config) {
			c.Ingress = func(now time.Duration, h *scenario.Host, frame []byte) []scenario.Delayed {
				if h.Server {
					cnp, err := scenario.Edit(frame, func(f *build.Frame) {
						f.Source, f.Destination = f.Destination, f.Source
						f.BTH = infiniband.BTH{Opcode: infiniband.CNP, BECN: true, PartitionKey: 0xffff, DestinationQP: 0x100}
						f.Payload = nil
					})
					if err != nil {
						t.Fatal(err)
					}
					h.Send(now, time.Microsecond, cnp)
				}
				return scenario.Pass(frame)
			}
		}, func(r scenario.Result, seen map[infiniband.Opcode]int) bool {
			return len(r.Errors) == 0 && seen[infiniband.CNP] == 1
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := scenario.DefaultConfig()
			c.Messages, c.MaxMessage, c.Mix = 1, 64, scenario.Writes
			seen := map[infiniband.Opcode]int{}
			c.Tap = func(f scenario.Frame) { seen[opcodeOf(t, f.Data)]++ }
			test.set(&c)
			if r := mustRun(t, c); !test.ok(r, seen) {
				t.Errorf("%+v, seen %v", r, seen)
			}
		})
	}
}

// Many senders to one receiver fill a queue: it marks, drops, and senders slow down.
func TestIncast(t *testing.T) {
	c := scenario.DefaultConfig()
	c.Clients, c.Connections, c.Mix, c.MaxMessage, c.Messages = 8, 8, scenario.Writes, 64<<10, 60
	c.Mark, c.Queue, c.Vantage = 100_000, 400_000, scenario.NearResponder
	cnps := 0
	c.Tap = func(f scenario.Frame) {
		if opcodeOf(t, f.Data).IsCNP() {
			cnps++
		}
	}
	run, err := scenario.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := run.Go()
	if !r.Finished || len(r.Faults)+len(r.Errors) > 0 || cnps < 10 {
		t.Fatalf("%+v, %d CNPs", r, cnps)
	}
	server := run.Network.Hosts[8]
	if server.Down[0].Marked == 0 {
		t.Error("nothing was marked")
	}
	for _, conn := range run.Connections {
		if client, _ := conn.Ends(); client.Statistics().CNPsReceived == 0 {
			t.Errorf("connection %d was not told", conn.Index)
		}
	}
	t.Logf("%v, %d CNPs, %d marked, %d dropped", r.Elapsed, cnps, server.Down[0].Marked, server.Down[0].Dropped)
}
