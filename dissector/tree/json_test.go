package tree_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/tree"
)

// built is the tree of one frame of a test capture.
func built(t *testing.T, capture string, number int) *tree.Node {
	t.Helper()
	var p dissector.Packet
	f := framefile.Read(t, filepath.Join("..", "testdata", capture))[number-1]
	err := dissector.Decode(f.Data, f.Meta, &p)
	return tree.Build(&p, err)
}

// find is the first node with a field's name.
func find(t *testing.T, root *tree.Node, field string) *tree.Node {
	t.Helper()
	var found *tree.Node
	root.Walk(func(n *tree.Node) bool {
		if n.Field == field {
			found = n
		}
		return found == nil
	})
	require.NotNil(t, found, "no %s", field)
	return found
}

// The keys and the types of the values are a contract with the console and with programs that read the
// command line's output.
func TestJSON(t *testing.T) {
	atomic := built(t, "sit-atomics.pcap", 1)
	tests := []struct {
		root        *tree.Node
		field, want string
	}{
		{
			atomic, "infiniband.bth.psn",
			`{"name":"PSN","field":"infiniband.bth.psn","value":400,"meaning":"0x000190","offset":51,"length":3}`,
		},
		{
			atomic, "infiniband.bth.m",
			`{"name":"Migration request","field":"infiniband.bth.m","value":true,"offset":43,"length":1,"bit_offset":1,"bit_length":1}`,
		},
		{
			atomic, "infiniband.bth.se",
			`{"name":"Solicited event","field":"infiniband.bth.se","value":false,"offset":43,"length":1,"bit_offset":0,"bit_length":1}`,
		},
		{
			atomic, "infiniband.bth.padcnt",
			`{"name":"Pad count","field":"infiniband.bth.padcnt","value":0,"offset":43,"length":1,"bit_offset":2,"bit_length":2}`,
		},
		{atomic, "infiniband.atomiceth.cmpdt", // 64 bits are a string, small or not
			`{"name":"Compare data","field":"infiniband.atomiceth.cmpdt","value":"9","meaning":"0x0000000000000009","offset":74,"length":8}`},
		{
			atomic, "ip.src",
			`{"name":"Source","field":"ip.src","value":"10.0.0.1","offset":26,"length":4}`,
		},
		{
			built(t, "sit-padcnt.pcap", 1), "infiniband.pad",
			`{"name":"Pad","field":"infiniband.pad","value":"000000","meaning":"3 bytes","offset":55,"length":3}`,
		},
		{
			built(t, "sit-rnr.pcap", 2), "infiniband.aeth.syndrome.timer",
			`{"name":"Timer code","field":"infiniband.aeth.syndrome.timer","value":14,"meaning":"1.28 ms","offset":54,"length":1,"bit_offset":3,"bit_length":5}`,
		},
		{
			built(t, "ct-snap50.pcap", 6), "rocelens.truncated",
			`{"name":"Truncated","field":"rocelens.truncated","value":"BTH cut by the capture after 8 bytes",` +
				`"meaning":"BTH cut by the capture after 8 bytes","offset":42,"length":0,"severity":"warning"}`,
		},
	}
	for _, tt := range tests {
		got, err := json.Marshal(find(t, tt.root, tt.field))
		require.NoError(t, err)
		assert.Equal(t, tt.want, string(got))
	}
	whole, err := json.Marshal(atomic)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(whole),
		`{"name":"Frame 1","field":"frame","meaning":"86 bytes on the wire, 86 captured","offset":0,"length":86,"children":[{"name":"Capture",`),
		"%.200s", whole)
}

func TestSummary(t *testing.T) {
	tests := []struct {
		capture string
		number  int
		want    tree.Line
	}{
		{"base-cm-send-write-read.pcap", 8, tree.Line{
			Source: "10.0.0.1", Destination: "10.0.0.2", Protocol: "RoCEv2",
			Info: "RC RDMA WRITE First PSN=0x005001 (20481) QP=0x000022 len=1024 of DMA=2148",
		}},
		{"sit-read.pcap", 1, tree.Line{
			Source: "10.0.0.1", Destination: "10.0.0.2", Protocol: "RoCEv2",
			Info: "RC RDMA READ Request PSN=0x00012c (300) QP=0x000011 DMA=1024 [ack request]",
		}},
		{"enc-vxlan.pcap", 7, tree.Line{
			Source: "10.0.0.1", Destination: "10.0.0.2", Protocol: "RoCEv2",
			Info: "RC ACK PSN=0x009000 (36864) QP=0x000022 MSN=1 ACK, credit count 31 (unlimited) [VXLAN 5001]",
		}},
		{"roce-v1-vlan-mixed.pcap", 1, tree.Line{
			Source: "15.0.0.2", Destination: "15.0.0.2", Protocol: "RoCEv1",
			Info: "RC RDMA WRITE Only PSN=0xa788bc (10979516) QP=0x00010a len=5 [ack request]",
		}},
		{"sit-ecn-cnp.pcap", 13, tree.Line{
			Source: "10.0.0.2", Destination: "10.0.0.1", Protocol: "CNP", Info: "CNP PSN=0x000000 (0) QP=0x000022",
		}},
		{"pfc.pcap", 3, tree.Line{
			Source: "02:00:00:00:00:09", Destination: "01:80:c2:00:00:01", Protocol: "PFC", Info: "class 3 resume",
		}},
		{"neg-dns-sport4791.pcap", 2, tree.Line{
			Source: "10.9.0.1", Destination: "10.9.0.2", Protocol: "DNS", Info: "port 4791 > port 53, 29 bytes",
		}},
	}
	var p dissector.Packet
	for _, tt := range tests {
		f := framefile.Read(t, filepath.Join("..", "testdata", tt.capture))[tt.number-1]
		err := dissector.Decode(f.Data, f.Meta, &p)
		assert.Equal(t, tt.want, tree.Summary(&p, err), "%s frame %d", tt.capture, tt.number)
	}
}

// Frames that Decode never saw give a tree, too: the zero Packet.
func TestBuildOfNothing(t *testing.T) {
	var p dissector.Packet
	err := dissector.Decode(nil, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p)
	root := tree.Build(&p, err)
	checkTree(t, nil, root)
	line := tree.Summary(&p, err)
	assert.NotEmpty(t, line.Info)
	checkTree(t, nil, tree.Build(&dissector.Packet{}, nil))
}
