package mad_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/mad"
)

var update = flag.Bool("update", false, "write the golden files anew")

type message interface {
	Decode(b []byte) (int, error)
}

// decode reads the datagram's header and message, and what encoding makes of them.
func decode(tb testing.TB, payload []byte) (mad.Header, message, []byte) {
	tb.Helper()
	var h mad.Header
	n, err := h.Decode(payload)
	require.NoError(tb, err)
	var m message
	switch h.Message() {
	case mad.MessageREQ:
		m = &mad.REQ{}
	case mad.MessageMRA:
		m = &mad.MRA{}
	case mad.MessageREJ:
		m = &mad.REJ{}
	case mad.MessageREP:
		m = &mad.REP{}
	case mad.MessageRTU:
		m = &mad.RTU{}
	case mad.MessageDREQ:
		m = &mad.DREQ{}
	case mad.MessageDREP:
		m = &mad.DREP{}
	case mad.MessageSIDRREQ:
		m = &mad.SIDRREQ{}
	case mad.MessageSIDRREP:
		m = &mad.SIDRREP{}
	case mad.MessageLAP:
		m = &mad.LAP{}
	case mad.MessageAPR:
		m = &mad.APR{}
	case mad.MessageNone:
		return h, nil, nil
	}
	_, err = m.Decode(payload[n:])
	require.NoError(tb, err)
	return h, m, m.(interface{ AppendTo(b []byte) []byte }).AppendTo(h.AppendTo(nil))
}

// datagrams are the payloads that go to the general services QP.
func datagrams(tb testing.TB, path string) [][]byte {
	tb.Helper()
	var found [][]byte
	var p dissector.Packet
	for _, f := range framefile.Read(tb, path) {
		err := dissector.Decode(f.Data, f.Meta, &p)
		if err == nil && p.BTH.Opcode == infiniband.UDSendOnly && p.BTH.DestinationQP == infiniband.GeneralServicesQP {
			found = append(found, p.Payload())
		}
	}
	return found
}

func TestGoldenMessages(t *testing.T) {
	for name, count := range map[string]int{"base-cm-send-write-read": 5, "sit-cm-reject": 2} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for _, payload := range datagrams(t, filepath.Join("..", "testdata", name+".pcap")) {
				h, m, wire := decode(t, payload)
				assert.Equal(t, payload, wire, "encoding is the inverse")
				fmt.Fprintf(&got, "%s\n%s\n%s\n", h.Message(), fields(h), fields(m))
				if req, ok := m.(*mad.REQ); ok {
					c, ok := req.IPCM()
					require.True(t, ok)
					fmt.Fprintf(&got, "%s\n", fields(c))
				}
				count--
			}
			assert.Zero(t, count, "messages missing")
			path := filepath.Join("testdata", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(path, got.Bytes(), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "run with -update to write it")
			assert.Empty(t, cmp.Diff(string(want), got.String()))
		})
	}
}

var field = regexp.MustCompile(` ([A-Z]\w*:)`)

// fields writes each field on a line of its own.
func fields(v any) string { return field.ReplaceAllString(fmt.Sprintf("%+v", v), "\n  $1") }

// Whoever sends the REQ 16 times gets no answer: each try is the same message with the same transaction.
func TestRepeatedRequestIsOneAttempt(t *testing.T) {
	payloads := datagrams(t, filepath.Join("..", "testdata", "sit-cm-noanswer.pcap"))
	require.Len(t, payloads, 16)
	first, _, _ := decode(t, payloads[0])
	for _, payload := range payloads {
		h, m, _ := decode(t, payload)
		assert.Equal(t, first, h)
		assert.Equal(t, uint8(15), m.(*mad.REQ).MaxCMRetries)
	}
}

// What applications of several vendors and programs sent.
func TestMessagesOfPublicCaptures(t *testing.T) {
	dir := framefile.Shared(t, filepath.Join("..", ".."))
	for _, c := range []struct {
		file, service, source  string
		qpn, psn               uint32 // of the REQ
		passiveQPN, passivePSN uint32 // of the REP
	}{
		{"write.pcap", "TCP port 172", "172.17.242.47", 0x137, 0x9f931b, 0x167, 0xbee37a},
		{"nvme-discover.pcap", "TCP port 4420 (NVMe-oF)", "2.2.2.1", 0xdc, 0x017c2d, 0x8d, 0xdc37af},
	} {
		t.Run(c.file, func(t *testing.T) {
			var kinds []string
			for _, payload := range datagrams(t, filepath.Join(dir, "magnate3-linux-riscv-dev", c.file)) {
				h, m, wire := decode(t, payload)
				kinds = append(kinds, h.Message().String())
				assert.Equal(t, payload, wire)
				switch m := m.(type) {
				case *mad.REQ:
					ip, ok := m.IPCM()
					require.True(t, ok)
					source, _, ok := ip.Addresses()
					require.True(t, ok)
					assert.Equal(t, c.source, source.String())
					assert.Equal(t, c.psn, m.StartingPSN)
					assert.Equal(t, "1024 bytes", m.PathMTU.String())
					assert.Equal(t, c.service, m.ServiceID.String())
					assert.Equal(t, c.qpn, m.LocalQPN)
				case *mad.REP:
					assert.Equal(t, c.passiveQPN, m.LocalQPN)
					assert.Equal(t, c.passivePSN, m.StartingPSN)
				}
			}
			assert.Equal(t, []string{"REQ", "REP", "RTU", "DREQ", "DREP"}, kinds)
		})
	}
}
