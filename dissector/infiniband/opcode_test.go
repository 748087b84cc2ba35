package infiniband

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// All opcodes with known headers, written out by hand against the IBTA's tables rather than computed.
var knownOpcodes = []struct {
	opcode  Opcode
	name    string
	headers string
}{
	{0x00, "RC SEND First", "BTH"},
	{0x01, "RC SEND Middle", "BTH"},
	{0x02, "RC SEND Last", "BTH"},
	{0x03, "RC SEND Last with Immediate", "BTH+ImmDt"},
	{0x04, "RC SEND Only", "BTH"},
	{0x05, "RC SEND Only with Immediate", "BTH+ImmDt"},
	{0x06, "RC RDMA WRITE First", "BTH+RETH"},
	{0x07, "RC RDMA WRITE Middle", "BTH"},
	{0x08, "RC RDMA WRITE Last", "BTH"},
	{0x09, "RC RDMA WRITE Last with Immediate", "BTH+ImmDt"},
	{0x0a, "RC RDMA WRITE Only", "BTH+RETH"},
	{0x0b, "RC RDMA WRITE Only with Immediate", "BTH+RETH+ImmDt"},
	{0x0c, "RC RDMA READ Request", "BTH+RETH"},
	{0x0d, "RC RDMA READ Response First", "BTH+AETH"},
	{0x0e, "RC RDMA READ Response Middle", "BTH"},
	{0x0f, "RC RDMA READ Response Last", "BTH+AETH"},
	{0x10, "RC RDMA READ Response Only", "BTH+AETH"},
	{0x11, "RC ACK", "BTH+AETH"},
	{0x12, "RC Atomic ACK", "BTH+AETH+AtomicAckETH"},
	{0x13, "RC COMPARE SWAP", "BTH+AtomicETH"},
	{0x14, "RC FETCH ADD", "BTH+AtomicETH"},
	{0x16, "RC SEND Last with Invalidate", "BTH+IETH"},
	{0x17, "RC SEND Only with Invalidate", "BTH+IETH"},
	{0x1c, "RC FLUSH", "BTH+FETH+RETH"},
	{0x1d, "RC ATOMIC WRITE", "BTH+RETH"},
	{0x20, "UC SEND First", "BTH"},
	{0x21, "UC SEND Middle", "BTH"},
	{0x22, "UC SEND Last", "BTH"},
	{0x23, "UC SEND Last with Immediate", "BTH+ImmDt"},
	{0x24, "UC SEND Only", "BTH"},
	{0x25, "UC SEND Only with Immediate", "BTH+ImmDt"},
	{0x26, "UC RDMA WRITE First", "BTH+RETH"},
	{0x27, "UC RDMA WRITE Middle", "BTH"},
	{0x28, "UC RDMA WRITE Last", "BTH"},
	{0x29, "UC RDMA WRITE Last with Immediate", "BTH+ImmDt"},
	{0x2a, "UC RDMA WRITE Only", "BTH+RETH"},
	{0x2b, "UC RDMA WRITE Only with Immediate", "BTH+RETH+ImmDt"},
	{0x40, "RD SEND First", "BTH+RDETH+DETH"},
	{0x41, "RD SEND Middle", "BTH+RDETH+DETH"},
	{0x42, "RD SEND Last", "BTH+RDETH+DETH"},
	{0x43, "RD SEND Last with Immediate", "BTH+RDETH+DETH+ImmDt"},
	{0x44, "RD SEND Only", "BTH+RDETH+DETH"},
	{0x45, "RD SEND Only with Immediate", "BTH+RDETH+DETH+ImmDt"},
	{0x46, "RD RDMA WRITE First", "BTH+RDETH+DETH+RETH"},
	{0x47, "RD RDMA WRITE Middle", "BTH+RDETH+DETH"},
	{0x48, "RD RDMA WRITE Last", "BTH+RDETH+DETH"},
	{0x49, "RD RDMA WRITE Last with Immediate", "BTH+RDETH+DETH+ImmDt"},
	{0x4a, "RD RDMA WRITE Only", "BTH+RDETH+DETH+RETH"},
	{0x4b, "RD RDMA WRITE Only with Immediate", "BTH+RDETH+DETH+RETH+ImmDt"},
	{0x4c, "RD RDMA READ Request", "BTH+RDETH+DETH+RETH"},
	{0x4d, "RD RDMA READ Response First", "BTH+RDETH+AETH"},
	{0x4e, "RD RDMA READ Response Middle", "BTH+RDETH"},
	{0x4f, "RD RDMA READ Response Last", "BTH+RDETH+AETH"},
	{0x50, "RD RDMA READ Response Only", "BTH+RDETH+AETH"},
	{0x51, "RD ACK", "BTH+RDETH+AETH"},
	{0x52, "RD Atomic ACK", "BTH+RDETH+AETH+AtomicAckETH"},
	{0x53, "RD COMPARE SWAP", "BTH+RDETH+DETH+AtomicETH"},
	{0x54, "RD FETCH ADD", "BTH+RDETH+DETH+AtomicETH"},
	{0x55, "RD RESYNC", "BTH+RDETH+DETH"},
	{0x5c, "RD FLUSH", "BTH+RDETH+DETH+FETH+RETH"},
	{0x64, "UD SEND Only", "BTH+DETH"},
	{0x65, "UD SEND Only with Immediate", "BTH+DETH+ImmDt"},
	{0x81, "CNP", "BTH+CNP"},
	{0xa0, "XRC SEND First", "BTH+XRCETH"},
	{0xa1, "XRC SEND Middle", "BTH+XRCETH"},
	{0xa2, "XRC SEND Last", "BTH+XRCETH"},
	{0xa3, "XRC SEND Last with Immediate", "BTH+XRCETH+ImmDt"},
	{0xa4, "XRC SEND Only", "BTH+XRCETH"},
	{0xa5, "XRC SEND Only with Immediate", "BTH+XRCETH+ImmDt"},
	{0xa6, "XRC RDMA WRITE First", "BTH+XRCETH+RETH"},
	{0xa7, "XRC RDMA WRITE Middle", "BTH+XRCETH"},
	{0xa8, "XRC RDMA WRITE Last", "BTH+XRCETH"},
	{0xa9, "XRC RDMA WRITE Last with Immediate", "BTH+XRCETH+ImmDt"},
	{0xaa, "XRC RDMA WRITE Only", "BTH+XRCETH+RETH"},
	{0xab, "XRC RDMA WRITE Only with Immediate", "BTH+XRCETH+RETH+ImmDt"},
	{0xac, "XRC RDMA READ Request", "BTH+XRCETH+RETH"},
	{0xad, "XRC RDMA READ Response First", "BTH+AETH"},
	{0xae, "XRC RDMA READ Response Middle", "BTH"},
	{0xaf, "XRC RDMA READ Response Last", "BTH+AETH"},
	{0xb0, "XRC RDMA READ Response Only", "BTH+AETH"},
	{0xb1, "XRC ACK", "BTH+AETH"},
	{0xb2, "XRC Atomic ACK", "BTH+AETH+AtomicAckETH"},
	{0xb3, "XRC COMPARE SWAP", "BTH+XRCETH+AtomicETH"},
	{0xb4, "XRC FETCH ADD", "BTH+XRCETH+AtomicETH"},
	{0xb6, "XRC SEND Last with Invalidate", "BTH+XRCETH+IETH"},
	{0xb7, "XRC SEND Only with Invalidate", "BTH+XRCETH+IETH"},
	{0xbc, "XRC FLUSH", "BTH+XRCETH+FETH+RETH"},
}

func TestEveryOpcode(t *testing.T) {
	known := map[Opcode]bool{}
	for _, tt := range knownOpcodes {
		known[tt.opcode] = true
		headers, ok := tt.opcode.Headers()
		assert.True(t, ok, tt.name)
		assert.Equal(t, tt.headers, headers.String(), tt.name)
		assert.Equal(t, tt.name, tt.opcode.String())
	}
	for i := range 256 {
		o := Opcode(i)
		if known[o] {
			continue
		}
		headers, ok := o.Headers()
		assert.False(t, ok, "%#x", i)
		assert.Equal(t, HasBTH, headers, "of an unknown opcode only the BTH can be read: %#x", i)
		assert.NotEmpty(t, o.String(), "%#x", i)
		assert.Zero(t, opcodeFlags[o], "an unknown opcode has no properties: %#x", i)
	}
}

func TestUnknownOpcodesAreNamed(t *testing.T) {
	for o, want := range map[Opcode]string{
		0x15: "RC opcode 0x15", // RESYNC is for RD alone
		0x18: "RC opcode 0x18",
		0x1a: "RC GET class",
		0x1b: "RC PUT class",
		0x2c: "UC opcode 0x2c", // UC has no READ
		0x60: "UD opcode 0x60",
		0x80: "reserved opcode 0x80", // not a CNP, though some programs take it for one
		0xc6: "vendor opcode 0xc6",
		0xff: "vendor opcode 0xff",
	} {
		assert.Equal(t, want, o.String())
	}
}

func TestServiceAndOperation(t *testing.T) {
	assert.Equal(t, ServiceRC, RCFlush.Service())
	assert.Equal(t, Flush, RCFlush.Operation())
	assert.Equal(t, ServiceUC, UCWriteOnly.Service())
	assert.Equal(t, WriteOnly, UCWriteOnly.Operation())
	assert.Equal(t, ServiceRD, RDResync.Service())
	assert.Equal(t, ServiceUD, UDSendOnly.Service())
	assert.Equal(t, ServiceCNP, CNP.Service())
	assert.Equal(t, ServiceXRC, XRCAcknowledge.Service())
	assert.Equal(t, ServiceVendor, Opcode(0xc4).Service())
	assert.Equal(t, ServiceVendor2, Opcode(0xff).Service())
	for s, want := range map[Service]string{
		ServiceRC: "RC", ServiceUC: "UC", ServiceRD: "RD", ServiceUD: "UD", ServiceCNP: "CNP", ServiceXRC: "XRC",
		ServiceVendor: "vendor", ServiceVendor2: "vendor",
	} {
		assert.Equal(t, want, s.String())
	}
}

// Every predicate against the set of RC operations for which it holds.
func TestPredicates(t *testing.T) {
	tests := []struct {
		name string
		is   func(Opcode) bool
		want []Opcode
	}{
		{"IsFirst", Opcode.IsFirst, []Opcode{0x00, 0x06, 0x0d}},
		{"IsMiddle", Opcode.IsMiddle, []Opcode{0x01, 0x07, 0x0e}},
		{"IsLast", Opcode.IsLast, []Opcode{0x02, 0x03, 0x08, 0x09, 0x0f, 0x16}},
		{"IsOnly", Opcode.IsOnly, []Opcode{0x04, 0x05, 0x0a, 0x0b, 0x10, 0x17}},
		{"IsRequest", Opcode.IsRequest, []Opcode{
			0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x16, 0x17, 0x1c, 0x1d,
		}},
		{"IsResponse", Opcode.IsResponse, []Opcode{0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12}},
		{"CarriesPayload", Opcode.CarriesPayload, []Opcode{
			0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0d, 0x0e, 0x0f, 0x10, 0x16, 0x17, 0x1d,
		}},
		{"StartsMessage", Opcode.StartsMessage, []Opcode{0x00, 0x04, 0x05, 0x06, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x17, 0x1c, 0x1d}},
		{"EndsMessage", Opcode.EndsMessage, []Opcode{
			0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x16, 0x17, 0x1c, 0x1d,
		}},
		{"IsSend", Opcode.IsSend, []Opcode{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x16, 0x17}},
		{"IsWrite", Opcode.IsWrite, []Opcode{0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b}},
		{"IsReadRequest", Opcode.IsReadRequest, []Opcode{0x0c}},
		{"IsReadResponse", Opcode.IsReadResponse, []Opcode{0x0d, 0x0e, 0x0f, 0x10}},
		{"IsAtomic", Opcode.IsAtomic, []Opcode{0x13, 0x14}},
		{"IsAck", Opcode.IsAck, []Opcode{0x11}},
		{"IsAtomicAck", Opcode.IsAtomicAck, []Opcode{0x12}},
		{"HasImmediate", Opcode.HasImmediate, []Opcode{0x03, 0x05, 0x09, 0x0b}},
	}
	for _, tt := range tests {
		var got []Opcode
		for o := range Opcode(0x20) {
			if tt.is(o) {
				got = append(got, o)
			}
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
	assert.True(t, CNP.IsCNP())
	assert.False(t, UCSendMiddle.IsCNP(), "only 0x81 is a CNP")
	assert.False(t, CNP.IsRequest() || CNP.IsResponse() || CNP.CarriesPayload())
}
