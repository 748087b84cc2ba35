package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/embedded"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

// agent is an agent's shipper, with a spool in memory: the disks of a thousand hosts are not what is measured.
type agent struct {
	id      uuid.UUID
	shipper *shipping.Shipper
	reports [][]shipping.AgentBatch
	phase   time.Duration

	mu       sync.Mutex
	waiting  []waiting
	handed   int
	sequence uint64
	wake     chan struct{}
}

type waiting struct {
	spool.Record
	since time.Time
}

func newAgent(n int, o options, begin time.Time, reports int) *agent {
	a := &agent{id: uuid.New(), wake: make(chan struct{}, 1), phase: time.Duration(n) * time.Second / time.Duration(o.agents)}
	host := fmt.Sprintf("node%04d", n)
	for second := range reports {
		span := shipping.AgentSpan{Agent: a.id, Host: host, Interface: "eth0", Start: begin.Add(time.Duration(second) * time.Second)}
		span.End = span.Start.Add(time.Second)
		flows := shipping.NewAgentFlows()
		for i := range o.flows {
			r := flow.Record{
				ID: flow.ID(n*1000 + i), ConnectionID: flow.ID(n*1000 + i), HasTime: true, FirstTime: span.Start.UnixNano(), LastTime: span.End.UnixNano() - 1,
				Packets: uint64(20_000 + 7*i + second), Bytes: uint64(80_000_000 + 7777*i + second), PayloadBytes: uint64(78_000_000 + 7777*i),
				Retransmitted: flow.Count{N: uint64(second % 3), Known: true}, Acks: uint64(i), FirstPSN: flow.Count{N: uint64(second * 20_000), Known: true},
				Key: flow.Key{Source: address(n), Destination: address(n + i + 1), DestinationQP: uint32(i + 17), Service: infiniband.ServiceRC, Protocol: dissector.ProtocolRoCEv2},
			}
			flows.Append(&r)
		}
		account := shipping.AgentInterval{AgentSpan: span, Run: a.id, Tier: "af_packet", Up: true, SourceIn: 1, SourceOut: 1, Drops: map[string]uint64{"decode: not RDMA": 1}, FlowRows: uint64(o.flows), SpooledRows: uint64(o.flows)}
		beat := shipping.AgentHeartbeat{Agent: a.id, Time: span.End, Run: a.id, Host: host, Version: "v1", Kernel: "6.1", Interval: time.Second, Interfaces: []shipping.AgentInterface{{Name: "eth0", Tier: "af_packet", Up: true}}}
		a.reports = append(a.reports, append(flows.Batches(span), account.Batch(), beat.Batch()))
	}
	return a
}

func address(n int) (a dissector.Address) {
	a[10], a[11], a[12] = 0xff, 0xff, 10
	binary.BigEndian.PutUint16(a[14:], uint16(n))
	return a
}

// work reports once a second.
func (a *agent) work(ctx context.Context, start time.Time) error {
	for second, report := range a.reports {
		select {
		case <-time.After(time.Until(start.Add(time.Duration(second)*time.Second + a.phase))):
		case <-ctx.Done():
			return nil
		}
		a.mu.Lock()
		for _, b := range report {
			a.sequence++
			a.waiting = append(a.waiting, waiting{spool.Record{Segment: a.id, Sequence: a.sequence, Units: b.Rows, Data: b.Data}, time.Now()})
		}
		a.mu.Unlock()
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// Next implements store.AgentSpool.
func (a *agent) Next(ctx context.Context) (spool.Record, error) {
	for {
		a.mu.Lock()
		if a.handed < len(a.waiting) {
			a.handed++
			record := a.waiting[a.handed-1].Record
			a.mu.Unlock()
			return record, nil
		}
		a.mu.Unlock()
		select {
		case <-a.wake:
		case <-ctx.Done():
			return spool.Record{}, ctx.Err()
		}
	}
}

// Confirm implements store.AgentSpool.
func (a *agent) Confirm(sequence uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.waiting {
		if a.waiting[i].Sequence == sequence {
			a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
			a.handed--
			return nil
		}
	}
	return errors.New("confirmed twice")
}

// Rewind implements store.AgentSpool.
func (a *agent) Rewind() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handed = 0
}

// figures are how far all agents are.
type figures struct {
	at       time.Time
	rows     uint64 // confirmed
	found    uint64 // in the tables of intervals
	waiting  int
	oldest   time.Duration
	failures uint64
	parts    uint64
}

func measure(ctx context.Context, database *embedded.Server, agents []*agent) (f figures, err error) {
	f.at = time.Now()
	for _, a := range agents {
		state := a.shipper.State()
		for _, n := range state.ConfirmedRows {
			f.rows += n
		}
		f.failures += state.Failures
		a.mu.Lock()
		f.waiting += len(a.waiting)
		if len(a.waiting) > 0 {
			f.oldest = max(f.oldest, f.at.Sub(a.waiting[0].since))
		}
		a.mu.Unlock()
	}
	if f.found, err = number(ctx, database, "SELECT (SELECT count() FROM rocelens.agent_flows) + (SELECT count() FROM rocelens.agent_intervals)"); err != nil {
		return f, err
	}
	f.parts, err = number(ctx, database, "SELECT count() FROM system.parts WHERE active AND database = 'rocelens'")
	return f, err
}

func number(ctx context.Context, database *embedded.Server, query string) (uint64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+database.HTTPAddress()+"/", strings.NewReader(query))
	if err != nil {
		return 0, err
	}
	request.SetBasicAuth(database.Credentials())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(line), 10, 64)
}

// service is a service as a process of its own.
type service struct {
	url     string
	process *exec.Cmd
}

func startService(ctx context.Context, dir string, database *embedded.Server) (*service, error) {
	user, password := database.Credentials()
	reader, readerPassword := database.ReaderCredentials()
	command := exec.CommandContext(ctx, "bin/rocelens", "serve", //nolint:gosec // what it is called with is ours
		"--listen", "127.0.0.1:0", "--data", dir+"/data", "--clickhouse", database.Address(),
		"--clickhouse-http", database.HTTPAddress(), "--clickhouse-user", user, "--clickhouse-reader", reader)
	command.Env = append(os.Environ(), "ROCELENS_CLICKHOUSE_PASSWORD="+password, "ROCELENS_CLICKHOUSE_READER_PASSWORD="+readerPassword, "ROCELENS_INGEST_TOKEN="+token)
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "rocelens is ready at ")
	if err != nil || !found {
		_ = command.Process.Kill()
		return nil, errors.Join(fmt.Errorf("the service says %q", line), err, command.Wait())
	}
	return &service{address, command}, nil
}

func (s *service) stop() {
	_ = s.process.Process.Signal(os.Interrupt)
	_ = s.process.Wait() // it was interrupted
}

// target is where agents ship to.
func (s *service) target(direct bool, database *embedded.Server) shipping.ShipperConfig {
	if !direct {
		return shipping.ShipperConfig{Server: &shipping.ServerTarget{URL: s.url, Token: token}}
	}
	user, password := database.Credentials()
	return shipping.ShipperConfig{Address: database.Address(), Account: access.Account{User: user, Password: password}}
}

// watch counts the events of the live view of all agents.
func (q *questions) watch(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, q.base+"api/v1/agents/live", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: ") {
			q.events++
		}
	}
	return response.Body.Close()
}
