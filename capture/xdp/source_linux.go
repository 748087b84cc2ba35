package xdp

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/rocelens/rocelens/capture/xdp/attach"
)

// Options say what to count, and how much memory that may take.
type Options struct {
	Interface string
	// Connections is how many entries the map holds, each of half a KiB while it is in use, and 128 bytes before: a
	// connection takes up to two a CPU and a direction, a path of MetaRoCE too, and those of the sweep before are still
	// there. Default 262,144.
	Connections int
	// Ring is how many bytes the ring has that takes what finds no room, a power of two. Default 4 MiB.
	Ring int
	// Promiscuous counts frames too that are not addressed to the interface, such as those of a mirror port.
	Promiscuous bool
	// Skip are ways to attach that are not tried.
	Skip []attach.Way
}

const (
	defaultConnections = 1 << 18
	defaultRing        = 1 << 22
)

// Source counts on one interface. Its methods are for one goroutine, but for Close.
type Source struct {
	attached *attach.Attachment // nil before
	objects  *ebpf.Collection
	reader   *ringbuf.Reader
	barrier  *ebpf.Map
	inner    *ebpf.Map
	reading  chan struct{} // closed when the ring's reader has ended

	generation              *ebpf.Variable
	connections, totals     *ebpf.Map
	table                   table
	current                 uint32
	previous                []uint64 // keys of the generation before
	keys                    []uint64
	values                  []programEntry
	scattered, wasScattered map[ID]struct{} // several CPUs saw these in the generation, and in the one before
	touched                 map[ID]uint32   // CPUs plus one, of the generation
	records                 map[ID]*Record
	ledger                  Ledger
	mutex                   sync.Mutex
	arrived                 *sync.Cond
	spilled                 map[uint32][]programEntry // by generation
	broken                  error                     // of the reader
	limit                   int
	closing                 sync.Once
	closed                  error
}

// Open loads the programs and attaches them.
func Open(o Options) (*Source, error) {
	if o.Connections == 0 {
		o.Connections = defaultConnections
	}
	if o.Ring == 0 {
		o.Ring = defaultRing
	}
	_ = rlimit.RemoveMemlock() // kernels from 5.11 on need none of it, and say what is missing otherwise
	objects, err := load(o)
	if err != nil {
		return nil, err
	}
	s := &Source{
		objects: objects, generation: objects.Variables[programVarGeneration],
		connections: objects.Maps[programMapConnections], totals: objects.Maps[programMapTotals], current: 1,
		keys: make([]uint64, batch), values: make([]programEntry, batch), limit: o.Connections,
		scattered: map[ID]struct{}{}, wasScattered: map[ID]struct{}{}, touched: map[ID]uint32{}, records: map[ID]*Record{},
		spilled: map[uint32][]programEntry{}, reading: make(chan struct{}),
	}
	s.arrived = sync.NewCond(&s.mutex)
	if err := s.start(o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// load loads what this kernel can run.
func load(o Options) (*ebpf.Collection, error) {
	spec, err := loadProgram()
	if err != nil {
		return nil, err
	}
	var seeds [16]byte
	if _, err := rand.Read(seeds[:]); err != nil {
		return nil, err
	}
	buckets := bucketsFor(o.Connections)
	coarse := features.HaveProgramHelper(ebpf.XDP, asm.FnKtimeGetCoarseNs) == nil
	if err := errors.Join(
		spec.Variables[programVarSeed].Set(binary.LittleEndian.Uint64(seeds[:])|1),
		spec.Variables[programVarOtherSeed].Set(binary.LittleEndian.Uint64(seeds[8:])|1),
		spec.Variables[programVarTableShift].Set(uint32(64-bits.TrailingZeros32(buckets))),
		spec.Variables[programVarHasCoarseClock].Set(coarse),
	); err != nil {
		return nil, err
	}
	spec.Maps[programMapTable].MaxEntries = buckets
	spec.Maps[programMapConnections].MaxEntries = uint32(o.Connections)
	spec.Maps[programMapSpilled].MaxEntries = uint32(o.Ring)
	objects, err := ebpf.NewCollection(spec)
	if err == nil {
		return objects, nil
	}
	// Before 5.18 an XDP program is for frames in one piece.
	delete(spec.Programs, programProgOnXdpFrags)
	if objects, again := ebpf.NewCollection(spec); again == nil {
		return objects, nil
	}
	return nil, fmt.Errorf("load the programs into the kernel: %w", err)
}

func (s *Source) start(o Options) error {
	one := ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	var err error
	if s.table, err = openTable(s.objects.Maps[programMapTable]); err != nil {
		return err
	}
	if s.inner, err = ebpf.NewMap(&one); err != nil {
		return fmt.Errorf("make a map: %w", err)
	}
	if s.barrier, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, InnerMap: &one}); err != nil {
		return fmt.Errorf("make a map of maps: %w", err)
	}
	if s.reader, err = ringbuf.NewReader(s.objects.Maps[programMapSpilled]); err != nil {
		return fmt.Errorf("read the ring: %w", err)
	}
	go s.read()
	p := s.objects.Programs
	s.attached, err = attach.To(o.Interface, attach.Programs{
		XDPFrags: p[programProgOnXdpFrags], XDP: p[programProgOnXdp], TCIn: p[programProgOnTc], TCOut: p[programProgOnTc],
		Lease: s.objects.Variables[programVarLease],
	}, attach.Options{Promiscuous: o.Promiscuous, Skip: o.Skip})
	return err
}

// read takes entries out of the ring as they come.
func (s *Source) read() {
	defer close(s.reading)
	var record ringbuf.Record
	for {
		err := s.reader.ReadInto(&record)
		s.mutex.Lock()
		if err != nil {
			s.broken = err
			s.arrived.Broadcast()
			s.mutex.Unlock()
			return
		}
		if len(record.RawSample) >= int(unsafe.Sizeof(programEntry{})) {
			var e programEntry
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&e)), unsafe.Sizeof(e)), record.RawSample) //nolint:gosec // bpf2go made the layout the kernel's
			s.spilled[e.Generation] = append(s.spilled[e.Generation], e)
			s.arrived.Broadcast()
		}
		s.mutex.Unlock()
	}
}

// batch is how many entries are read at once.
const batch = 4096

// Filled is how much of the map is taken, from 0 to 1, by what has been counted since the latest Collect.
func (s *Source) Filled() (float64, error) {
	l, err := s.sum(s.current)
	if err != nil {
		return 0, err
	}
	return float64(l.Entries) / float64(s.limit), nil
}

// sum adds up the ledgers of all CPUs.
func (s *Source) sum(generation uint32) (programLedger, error) {
	var each []programLedger
	var all programLedger
	if err := s.totals.Lookup(generation%generations, &each); err != nil {
		return all, fmt.Errorf("read the kernel's ledger: %w", err)
	}
	for i := range each {
		l := &each[i]
		all.Rdma += l.Rdma
		all.RdmaBytes += l.RdmaBytes
		all.Spilled += l.Spilled
		all.Entries += l.Entries
		all.OtherBytes += l.OtherBytes
		for k, n := range l.Other {
			all.Other[k] += n
		}
	}
	return all, nil
}

// generations is of how many the kernel keeps ledgers.
const generations = 4

// Renew tells a program that outlives the agent that it lives. Where there is such a program it is due every second.
func (s *Source) Renew() error { return s.attached.Renew() }

// Collect begins a new generation, and takes in what the one before has counted.
func (s *Source) Collect() error {
	past := s.current
	s.current++
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return err
	}
	if err := s.totals.Put(s.current%generations, make([]programLedger, cpus)); err != nil {
		return fmt.Errorf("clear the kernel's ledger: %w", err)
	}
	if err := s.generation.Set(s.current); err != nil {
		return fmt.Errorf("begin a generation: %w", err)
	}
	// The kernel answers when each program that was running has ended.
	if err := s.barrier.Put(uint32(0), uint32(s.inner.FD())); err != nil {
		return fmt.Errorf("wait for the programs: %w", err)
	}
	if len(s.previous) > 0 {
		if err := s.table.free(s.previous); err != nil {
			return fmt.Errorf("clear slots: %w", err)
		}
		if _, err := s.connections.BatchDelete(s.previous, nil); err != nil {
			return fmt.Errorf("clear entries: %w", err)
		}
		s.previous = s.previous[:0]
	}
	l, err := s.sum(past)
	if err != nil {
		return err
	}
	at, err := readClock(s.objects)
	if err != nil {
		return err
	}
	clear(s.touched)
	s.scattered, s.wasScattered = s.wasScattered, s.scattered
	clear(s.scattered)
	took := Ledger{RDMA: l.Rdma, RDMABytes: l.RdmaBytes, Spilled: l.Spilled, OtherBytes: l.OtherBytes, Others: l.Other}
	var cursor ebpf.MapBatchCursor
	for {
		n, err := s.connections.BatchLookup(&cursor, s.keys, s.values, nil)
		for i := range n {
			if e := &s.values[i]; e.Generation == past {
				s.previous = append(s.previous, s.keys[i])
				if err := s.table.read(s.keys[i], e); err != nil {
					return fmt.Errorf("read slots: %w", err)
				}
				took.Counted += s.take(e, at, true)
			}
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("read entries: %w", err)
		}
	}
	n, err := s.takeSpilled(past, l.Spilled, at)
	if err != nil {
		return err
	}
	took.Counted += n
	s.ledger.add(&took)
	return nil
}

// take adds an entry to its record. It answers how many packets it counts.
func (s *Source) take(e *programEntry, at clock, followed bool) uint64 {
	id := idOf(e)
	if cpu := s.touched[id]; cpu != 0 && cpu != e.Cpu+1 {
		s.scattered[id] = struct{}{}
	}
	s.touched[id] = e.Cpu + 1
	r := s.records[id]
	if r == nil {
		r = &Record{}
		s.records[id] = r
	}
	if e.Flags&fromBefore != 0 {
		_, scattered := s.wasScattered[id]
		followed = followed && !scattered
	}
	if e.Flags&restarted != 0 {
		followed = false
	}
	r.merge(e, at, followed)
	return e.Hot.Packets
}

// takeSpilled takes in the entries that came by the ring, of which the kernel knows the number.
func (s *Source) takeSpilled(generation uint32, expected uint64, at clock) (packets uint64, err error) {
	s.mutex.Lock()
	for uint64(len(s.spilled[generation])) < expected && s.broken == nil {
		s.arrived.Wait()
	}
	all := s.spilled[generation]
	delete(s.spilled, generation)
	err = s.broken
	s.mutex.Unlock()
	for i := range all {
		packets += s.take(&all[i], at, false)
	}
	if uint64(len(all)) < expected {
		return packets, fmt.Errorf("read the ring: %w", err)
	}
	return packets, nil
}

// Sweep collects, hands over the records since the sweep before, and their account. A record is valid during the call.
func (s *Source) Sweep(emit func(*Record)) (Ledger, error) {
	if err := s.Collect(); err != nil {
		return Ledger{}, err
	}
	for _, r := range s.records {
		emit(r)
	}
	clear(s.records)
	l := s.ledger
	s.ledger = Ledger{}
	return l, nil
}

// Held is how many records the next Sweep has at least.
func (s *Source) Held() int { return len(s.records) }

// Attached is how the programs of a Source are attached.
type Attached = attach.Attachment

// Attached is how the programs are attached.
func (s *Source) Attached() Attached { return *s.attached }

// Close detaches the programs. What was counted since the latest sweep is lost.
func (s *Source) Close() error {
	s.closing.Do(func() {
		s.closed = s.Detach()
		if s.reader != nil {
			s.closed = errors.Join(s.closed, s.reader.Close())
			<-s.reading
		}
		for _, m := range []*ebpf.Map{s.barrier, s.inner} {
			if m != nil {
				s.closed = errors.Join(s.closed, m.Close())
			}
		}
		s.objects.Close()
	})
	return s.closed
}

// Detach ends the counting. What has been counted can still be swept.
func (s *Source) Detach() error {
	if s.attached == nil {
		return nil
	}
	return s.attached.Detach()
}
