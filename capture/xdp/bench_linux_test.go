package xdp

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
)

// budget is the time that 800 Gbit/s leaves for a packet of 4 KiB, ns.
const budget = 42

// dataPackets are a WRITE in the middle of a message, of each transport, and where their PSNs stand.
func dataPackets() map[string]struct {
	frame []byte
	psn   uint32
} {
	datagram := func(port uint16, headers []byte) []byte {
		payload := slices.Concat(headers, make([]byte, 1024+4))
		udp := binary.BigEndian.AppendUint16([]byte{0xc0, 1}, port)
		udp = append(binary.BigEndian.AppendUint16(udp, uint16(8+len(payload))), 0, 0)
		return inIPv4(17, append(udp, payload...))
	}
	metaroce := make([]byte, 48)
	copy(metaroce, []byte{4, 0, 4, 0, 0, 0, 0, 7, 3, 1, 0xff, 0xff})
	metaroce[30], metaroce[33] = 4, 1 // 1024 of 65536 bytes come before
	type of = struct {
		frame []byte
		psn   uint32
	}
	return map[string]of{
		"RoCEv2":   {datagram(4791, []byte{7, 0, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 0}), 50},
		"MetaRoCE": {datagram(51791, metaroce), 54},
	}
}

// BenchmarkPrograms runs the programs in the kernel on data packets of tracked connections, beside one that only finds
// UDP and adds to a counter, and one that moreover touches a line of memory of each connection, the least there is. All
// write the next PSN into the packet first. What is told are medians.
func BenchmarkPrograms(b *testing.B) {
	needBPF(b)
	const shift = 17 // 131,072 connections
	for name, packet := range dataPackets() {
		for _, many := range []bool{false, true} {
			label := name + "/one-connection"
			if many {
				label = name + "/131072-connections-in-random-order"
			}
			b.Run(label, func(b *testing.B) {
				spec, err := loadStepping()
				require.NoError(b, err)
				require.NoError(b, spec.Variables["step_psn"].Set(packet.psn))
				if many {
					require.NoError(b, spec.Variables["step_mask"].Set(uint32(1<<shift-1)))
					require.NoError(b, spec.Variables["step_shift"].Set(uint32(shift)))
				}
				spec.Maps[programMapConnections].MaxEntries = 1 << 20
				objects, err := ebpf.NewCollection(spec)
				require.NoError(b, err)
				defer objects.Close()
				programs := [...]string{"stepping", "stepping_baseline", "stepping_lines"}
				for b.Loop() {
					var took [len(programs)][]float64
					for range 9 { // in turns, so that what else the machine does is the same for all
						for i, name := range programs {
							got, each, err := objects.Programs[name].Benchmark(packet.frame, 1<<18, nil)
							require.NoError(b, err)
							require.EqualValues(b, 2, got)
							took[i] = append(took[i], float64(each.Nanoseconds()))
						}
					}
					for i := range took {
						slices.Sort(took[i])
					}
					const median = 4
					counting, baseline, line := took[0][median], max(took[1][median], 1), took[2][median]
					b.ReportMetric(counting, "ns/packet")
					b.ReportMetric(baseline, "ns/packet-baseline")
					b.ReportMetric(line, "ns/packet-one-line")
					b.ReportMetric(line/baseline, "x-baseline-one-line")
					b.ReportMetric(counting/baseline, "x-baseline")
					b.ReportMetric(counting/budget, "x-42ns")
				}
			})
		}
	}
}
