package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store"
)

// benchmarkRows is a capture of a gigabyte or so.
const benchmarkRows = 1_000_000

// BenchmarkAnalysis stores a capture of a million packets of 64 connections, every twentieth an ACK, and
// makes it visible. With -v it prints what each column takes on disk; docs/storage.md is made from that.
func BenchmarkAnalysis(b *testing.B) {
	s := open(b, "rocelens_bench")
	var capture uuid.UUID
	for b.Loop() {
		capture = uuid.New()
		million(b, s, capture)
	}
	b.ReportMetric(float64(benchmarkRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	ask(b, "OPTIMIZE TABLE rocelens_bench.packets PARTITION '"+capture.String()+"' FINAL")
	b.Log("\n" + ask(b, `SELECT column, any(type), sum(column_data_compressed_bytes) AS compressed, sum(column_data_uncompressed_bytes),
		round(compressed / any(rows), 3) FROM system.parts_columns
		WHERE database = 'rocelens_bench' AND table = 'packets' AND active AND partition = '`+capture.String()+`'
		GROUP BY column ORDER BY compressed DESC FORMAT TSV`))
	b.Log("\n" + ask(b, `SELECT sum(rows), sum(data_compressed_bytes), sum(data_uncompressed_bytes), sum(secondary_indices_compressed_bytes), sum(bytes_on_disk), count()
		FROM system.parts WHERE database = 'rocelens_bench' AND table = 'packets' AND active AND partition = '`+capture.String()+"' FORMAT TSV"))
}

// million stores a capture in which 64 connections take turns in bursts of unlike length, with gaps of
// unlike length between their packets. It is the same each time.
func million(b *testing.B, s *store.Store, capture uuid.UUID) {
	b.Helper()
	a, err := s.BeginAnalysis(b.Context(), capture)
	if err != nil {
		b.Fatal(err)
	}
	const connections = 64
	random := rand.New(rand.NewPCG(1, 2))
	packets := newStream(connections)
	var turns [connections]int
	connection, burst, now, offset := 0, 0, start, int64(24)
	for i := range benchmarkRows {
		if burst == 0 {
			connection, burst = random.IntN(connections), 1+random.IntN(24)
		}
		burst--
		p, seen := packets.at(turns[connection]*connections + connection)
		turns[connection]++
		now += 80 + random.Int64N(400)
		p.Meta.Number, p.Meta.Time = uint64(i)+1, now
		p.Network.ID += uint16(connection * 997)
		if random.IntN(50) == 0 {
			p.Network.ECN = dissector.ECNCE
		}
		answer := i%20 == 19
		if answer {
			p.Network.Source, p.Network.Destination = p.Network.Destination, p.Network.Source
			p.BTH.Opcode, p.BTH.AckRequest, p.Has = infiniband.RCAcknowledge, false, infiniband.HasBTH|infiniband.HasAETH
			p.BTH.DestinationQP += 0x4000
			p.AETH = infiniband.AETH{Syndrome: 0x1f, MSN: uint32(turns[connection] / 16)}
			p.Meta.OriginalLength, p.PayloadLength = 62, 0
			seen.Flow, seen.Message = seen.Flow*0x2545f4914f6cdd1d, 0
		}
		if random.IntN(1000) == 0 {
			seen.Flags = flow.FlagRetransmitted | flow.FlagAfterNAK
		}
		if err := a.Packet(b.Context(), p, nil, dissector.ICRCGood, seen, offset); err != nil {
			b.Fatal(err)
		}
		offset += 16 + min(128, int64(p.Meta.OriginalLength))
		p.Network.ECN = dissector.ECNECT0
		if answer {
			p.Network.Source, p.Network.Destination = p.Network.Destination, p.Network.Source
		}
	}
	if err := a.Commit(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkQueries asks what the console asks of a capture of a million packets.
func BenchmarkQueries(b *testing.B) {
	s := open(b, "rocelens_bench_queries")
	capture := uuid.New()
	million(b, s, capture)
	const one = flow.ID(0x9e3779b97f4a7c15*7&(1<<64-1)) + 1
	for name, run := range map[string]func() error{
		"throughput": func() error {
			_, err := s.Throughput(b.Context(), capture, store.ThroughputQuery{Buckets: 300})
			return err
		},
		"throughput of a flow": func() error {
			_, err := s.Throughput(b.Context(), capture, store.ThroughputQuery{Flow: one, Buckets: 300})
			return err
		},
		"page of packets": func() error {
			_, err := s.Packets(b.Context(), capture, store.PacketQuery{After: 500_000, Limit: 200})
			return err
		},
		"page of a flow": func() error {
			_, err := s.Packets(b.Context(), capture, store.PacketQuery{Flow: one, After: 500_000, Limit: 200})
			return err
		},
		"retransmitted": func() error {
			_, err := s.Packets(b.Context(), capture, store.PacketQuery{Only: "retransmitted", Limit: 200})
			return err
		},
		"one packet": func() error {
			_, err := s.Packet(b.Context(), capture, 777_777)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppend is the cost of one packet to the analysis that stores it, the database aside.
func BenchmarkAppend(b *testing.B) {
	block := store.NewPacketBlock()
	packets := newStream(64)
	p, seen := packets.at(1)
	b.ReportAllocs()
	for b.Loop() {
		block.Append(p, seen)
	}
}

// TestAppendAllocatesNothing once the block has grown.
func TestAppendAllocatesNothing(t *testing.T) {
	block := store.NewPacketBlock()
	packets := newStream(64)
	p, seen := packets.at(1)
	block.Append(p, seen)
	block.Reset()
	if n := testing.AllocsPerRun(100, func() {
		block.Append(p, seen)
		block.Reset()
	}); n != 0 {
		t.Errorf("allocations = %v, want 0", n)
	}
}
