package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
)

func TestWithoutRDMASaysWhatWasThereInstead(t *testing.T) {
	for _, tc := range []struct {
		name   string
		totals api.Totals
		other  []Traffic
		want   string
	}{
		{"rdma", api.Totals{Packets: 3, RdmaPackets: 1}, []Traffic{{"TCP", 2}}, ""},
		{"nothing", api.Totals{}, nil, "The capture holds no packets."},
		{"one", api.Totals{Packets: 1}, []Traffic{{"ARP", 1}}, "1 packet, none of them RDMA: 1 ARP."},
		{"thousands", api.Totals{Packets: 1024}, []Traffic{{"TCP", 1000}, {"UDP", 24}}, "1,024 packets, none of them RDMA: 1,000 TCP, 24 UDP."},
		{"many kinds", api.Totals{Packets: 28}, []Traffic{{"a", 7}, {"b", 6}, {"c", 5}, {"d", 4}, {"e", 3}, {"f", 1}, {"g", 1}, {"h", 1}}, "28 packets, none of them RDMA: 7 a, 6 b, 5 c, 4 d, 3 e, 1 f, 2 other."},
		{"unnamed", api.Totals{Packets: 2}, nil, "2 packets, none of them RDMA."},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, withoutRDMA(tc.totals, tc.other)) })
	}
}

func TestByteSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 20 << 30: "20 GiB", 5<<40 + 1<<39: "5.5 TiB", 123 << 20: "123 MiB",
	} {
		require.Equal(t, want, byteSize(n))
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, grouped(n))
	}
}

func TestJoinSentences(t *testing.T) {
	require.Equal(t, "The file is cut. 2 packets.", joinSentences("the file is cut", "", "2 packets."))
	require.Empty(t, joinSentences("", " "))
}

func TestCleanName(t *testing.T) {
	for name, want := range map[string]string{
		"a.pcap":                  "a.pcap",
		"/etc/passwd":             "passwd",
		`C:\captures\slow.pcapng`: "slow.pcapng",
		"":                        "unnamed",
		"\x00\n":                  "unnamed",
		"na\xffme":                "name",
		"dos攻击.pcap":              "dos攻击.pcap",
		"trailing \t":             "trailing",
		"../../up":                "up",
		"..":                      "unnamed",
		"\u202egnp.pcap":          "gnp.pcap",
		"a\u0085b\u2066.pcap":     "ab.pcap",
		"a\u200db":                "a\u200db", // which emoji are joined with
	} {
		require.Equal(t, want, cleanName(name), "%q", name)
	}
	long := make([]byte, 400)
	for i := range long {
		long[i] = 'x'
	}
	require.Len(t, cleanName(string(long)), maxNameLength)
}
