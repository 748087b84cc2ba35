package capgen

import (
	"fmt"
	"io"
	"slices"

	"github.com/rocelens/rocelens/capture/pcapfile"
)

// sample is a capture small enough to be kept beside the code.
type sample struct {
	name   string
	format pcapfile.Format
	config Config
	meta   *MetaConfig // of MetaRoCE, in place of config
}

// samples are the captures in testdata/, which documentation and tests speak of.
func samples() []sample {
	ring := Default()
	ring.Seed, ring.Packets, ring.Connections = 42, 480, 4
	ring.PathMTU, ring.MinMessage, ring.MaxMessage, ring.Burst, ring.AckEvery = 256, 1024, 2048, 3, 1
	ring.Ring, ring.FaultyConnection = true, 3
	ring.Faults = Faults{LossBefore: 0.4, Mark: 0.5}
	ring.Interface = "swp3"

	mix := Default()
	mix.Seed, mix.Packets, mix.Connections = 7, 420, 6
	mix.Encapsulations = []Encapsulation{IPv4, IPv6, VLAN, RoCEv1, VXLAN, ERSPAN2}
	mix.Mix = Mix{Write: 3, Send: 3, Read: 3, Atomic: 1}
	mix.PathMTU, mix.MinMessage, mix.MaxMessage = 512, 1, 2000
	mix.Background = 40

	spray := DefaultMeta()
	spray.Seed, spray.Connections, spray.Paths, spray.Streams, spray.Messages = 11, 1, 4, 2, 24
	spray.MTU, spray.MaxMessage, spray.Reads, spray.RePath = 256, 1500, true, true
	spray.LossBefore, spray.LossAfter, spray.Mark, spray.CaptureMiss = 0.02, 0.02, 0.1, 0.01

	return []sample{
		{"allreduce-loss.pcapng", pcapfile.FormatPcapng, ring, nil},
		{"read-write-mix.pcap", pcapfile.FormatPcap, mix, nil},
		{"metaroce-spray.pcap", pcapfile.FormatPcap, Config{}, &spray},
	}
}

// SampleNames lists the samples.
func SampleNames() []string {
	var names []string
	for _, s := range samples() {
		names = append(names, s.name)
	}
	return names
}

// Sample writes a sample and returns the truth about it.
func Sample(w io.Writer, name string) (Truth, error) {
	all := samples()
	i := slices.IndexFunc(all, func(s sample) bool { return s.name == name })
	if i < 0 {
		return Truth{}, fmt.Errorf("unknown sample %q: one of %v", name, SampleNames())
	}
	if all[i].meta != nil {
		truth, err := GenerateMeta(w, all[i].format, *all[i].meta)
		return Truth{
			Packets: truth.Packets, RDMAPackets: truth.Packets, Messages: truth.Messages, Retransmitted: truth.Retransmitted,
			MirrorCopies: truth.MirrorCopies, MissingPSNs: truth.MissingPSNs, CEMarked: truth.CEMarked, Connections: truth.Connections,
		}, err
	}
	return Generate(w, all[i].format, all[i].config)
}
