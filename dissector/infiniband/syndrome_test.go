package infiniband

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Every code of the RNR NAK timer, as the IBTA prints it, in milliseconds.
func TestRNRTimer(t *testing.T) {
	milliseconds := [32]float64{
		655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92,
		2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
	}
	for code, ms := range milliseconds {
		want := time.Duration(ms*100+0.5) * 10 * time.Microsecond
		assert.Equal(t, want, Syndrome(0x20|code).RNRTimer(), "code %d", code)
	}
	assert.Zero(t, Syndrome(0x00).RNRTimer(), "an ACK has no timer")
	assert.Zero(t, Syndrome(0xa1).RNRTimer(), "a reserved type has no timer")
}

func TestCreditCount(t *testing.T) {
	counts := [31]int{
		0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
		6144, 8192, 12288, 16384, 24576, 32768,
	}
	for code, want := range counts {
		n, limited := Syndrome(code).CreditCount()
		assert.Equal(t, want, n, "code %d", code)
		assert.True(t, limited, "code %d", code)
	}
	for _, s := range []Syndrome{0x1f, 0x60, 0x21, 0x85} {
		n, limited := s.CreditCount()
		assert.Zero(t, n, "%#x", uint8(s))
		assert.False(t, limited, "%#x", uint8(s))
	}
}

func TestSyndrome(t *testing.T) {
	tests := []struct {
		syndrome      Syndrome
		ack, rnr, nak bool
		text          string
	}{
		{0x00, true, false, false, "ACK, credit count 0 (0 credits)"},
		{0x0d, true, false, false, "ACK, credit count 13 (96 credits)"},
		{0x1f, true, false, false, "ACK, credit count 31 (unlimited)"},
		{0x2e, false, true, false, "RNR NAK, timer 1.28 ms"},
		{0x20, false, true, false, "RNR NAK, timer 655.36 ms"},
		{0x40, false, false, false, "reserved syndrome 0x40"},
		{0x60, false, false, true, "NAK, PSN sequence error"},
		{0x61, false, false, true, "NAK, invalid request"},
		{0x62, false, false, true, "NAK, remote access error"},
		{0x63, false, false, true, "NAK, remote operational error"},
		{0x64, false, false, true, "NAK, invalid RD request"},
		{0x65, false, false, true, "NAK, operation in progress"},
		{0x66, false, false, true, "NAK, reserved code 6"},
		{0x80, false, false, false, "reserved syndrome 0x80"}, // bit 7 is zero in every defined syndrome
		{0xe0, false, false, false, "reserved syndrome 0xe0"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.text, tt.syndrome.String())
		assert.Equal(t, tt.ack, tt.syndrome.IsACK(), tt.text)
		assert.Equal(t, tt.rnr, tt.syndrome.IsRNR(), tt.text)
		assert.Equal(t, tt.nak, tt.syndrome.IsNAK(), tt.text)
	}
	assert.Equal(t, "RNR NAK", SyndromeRNR.String())
	assert.Equal(t, "NAK", SyndromeNAK.String())
	assert.Equal(t, "ACK", SyndromeACK.String())
	assert.Equal(t, "reserved", SyndromeReserved.String())
	assert.Equal(t, "reserved", SyndromeType(7).String())
}
