package roce

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// CNPScope is what shares one interval between CNPs. Annex A17 leaves it open, and NICs differ.
type CNPScope uint8

// Scopes.
const (
	CNPPerQP CNPScope = iota
	CNPPerDestination
	CNPPerPort
)

// Config is what an endpoint, a port of a NIC, is told. Address and Memory have no default.
type Config struct {
	Address      netip.Addr
	MAC          [6]byte
	PartitionKey uint16
	Memory       Memory // what peers may reach; nil: nothing

	ECN      bool  // requests and READ responses are ECN-capable
	DSCP     uint8 // of all but CNPs, 0 to 63
	CNPDSCP  uint8
	TTL      uint8
	LineRate float64 // bit/s of the port: where rate control begins

	CNPInterval time.Duration // least time between two CNPs of a scope (annex A17.9.3 leaves it open)
	CNPScope    CNPScope
	RateControl bool // a CNP slows the QP down, see [DCQCN]
	DCQCN       DCQCN

	// Accept decides about a peer's REQ (IBTA volume 1, section 12.6.5): the QP to be opened for it, or the reason to
	// reject it. What the REQ says takes the place of addresses, peer's numbers, MTU and retry counts, and bounds READs
	// and atomics. nil rejects all.
	Accept func(*ConnectRequest) (QPConfig, mad.Reason)
	// ResponseTimeout is how long a message of the connection manager waits for its answer, and CMRetries how often it
	// is sent again.
	ResponseTimeout time.Duration
	CMRetries       uint8 // 0 to 15
}

// DefaultConfig has the usual values of NICs.
func DefaultConfig() Config {
	return Config{
		PartitionKey: infiniband.DefaultPartitionKey,
		ECN:          true, DSCP: 26, CNPDSCP: 48, TTL: 64, LineRate: 100e9,
		CNPInterval: 4 * time.Microsecond, RateControl: true, DCQCN: DefaultDCQCN(),
		ResponseTimeout: 67 * time.Millisecond, CMRetries: 15,
	}
}

func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Address.IsValid(), "no address")
	check(c.DSCP < 64 && c.CNPDSCP < 64, "DSCP %d or %d is not 0 to 63", c.DSCP, c.CNPDSCP)
	check(c.LineRate > 0, "line rate must be positive")
	check(c.CNPInterval >= 0, "CNP interval is negative")
	check(c.CNPScope <= CNPPerPort, "unknown CNP scope %d", c.CNPScope)
	check(c.ResponseTimeout > 0 && c.CMRetries < 16, "response timeout must be positive, CM retries 0 to 15")
	errs = append(errs, c.DCQCN.validate())
	return errors.Join(errs...)
}

// QPConfig is a queue pair in the state ready to send (IBTA volume 1, section 10.3.1). [DefaultQPConfig] has values for
// all but numbers, addresses and initial PSNs.
type QPConfig struct {
	QPN, RemoteQPN uint32 // 24 bits, 2 or more
	Remote         netip.Addr
	RemoteMAC      [6]byte
	SourcePort     uint16 // UDP, the same for all packets of the QP (annex A17.9.2)

	SendPSN, ReceivePSN uint32 // initial, 24 bits
	MTU                 int    // path MTU: 256, 512, 1024, 2048 or 4096 bytes

	Timeout     uint8 // local ACK timeout: 4.096 µs · 2^Timeout, 0: never (section 9.7.6.1.3)
	RetryCount  uint8 // 0 to 7
	RNRRetry    uint8 // 0 to 6, 7: for ever (section 9.7.5.2.8)
	MinRNRTimer uint8 // code that the QP's own RNR NAKs carry, 0 to 31

	MaxReadAtomic     int // initiator depth: READs and atomics that may be unanswered
	MaxDestReadAtomic int // responder resources: READs and atomics of the peer at a time

	Credits         bool          // end-to-end flow control (section 9.7.7.2)
	Window          int           // PSNs that may be unacknowledged
	AckRequestEvery int           // packets of a long message after which an ACK is asked for; 0: at its end only
	AckCoalescing   int           // requests for an ACK that one ACK answers, 1: each. Counted while they wait for AckDelay
	AckDelay        time.Duration // longest wait of a request for an ACK

	// SelectiveRepeat lets the requester send again only the packet that a NAK names, and the responder keep up to
	// ReorderLimit packets behind a gap. The IBTA has go-back-N; some NICs do this between each other.
	SelectiveRepeat bool
	ReorderLimit    int
}

// DefaultQPConfig has the usual values: timeout 67 ms, 7 retries, unlimited RNR retries with a timer of 0.64 ms.
func DefaultQPConfig() QPConfig {
	return QPConfig{
		SourcePort: 49152, MTU: 1024, Timeout: 14, RetryCount: 7, RNRRetry: 7, MinRNRTimer: 12,
		MaxReadAtomic: 16, MaxDestReadAtomic: 16, Window: 1024, AckRequestEvery: 64, AckCoalescing: 1, ReorderLimit: 256,
	}
}

func (c *QPConfig) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.QPN > 1 && c.QPN < 1<<24-1 && c.RemoteQPN > 1 && c.RemoteQPN < 1<<24-1, "QP numbers %#x, %#x, want 2 to 0xfffffe", c.QPN, c.RemoteQPN)
	check(c.Remote.IsValid(), "no remote address")
	check(c.SendPSN < 1<<24 && c.ReceivePSN < 1<<24, "initial PSNs have 24 bits")
	check(c.MTU >= 256 && c.MTU <= 4096 && c.MTU&(c.MTU-1) == 0, "MTU %d is not 256, 512, 1024, 2048 or 4096", c.MTU)
	check(c.Timeout < 32 && c.RetryCount < 8 && c.RNRRetry < 8 && c.MinRNRTimer < 32, "timeout and RNR timer are codes of 0 to 31, retry counts 0 to 7")
	check(c.MaxReadAtomic >= 0 && c.MaxReadAtomic < 256 && c.MaxDestReadAtomic >= 0 && c.MaxDestReadAtomic < 256, "READs and atomics at a time: 0 to 255")
	check(c.Window > 0 && c.Window < 1<<23, "window %d, want 1 to 2^23 - 1", c.Window)
	check(c.AckRequestEvery >= 0 && c.AckCoalescing >= 1 && c.AckDelay >= 0, "ACK settings must not be negative")
	check(!c.SelectiveRepeat || c.ReorderLimit > 0, "selective repeat needs a reorder limit")
	return errors.Join(errs...)
}

// timeout is the local ACK timeout.
func (c *QPConfig) timeout() time.Duration {
	if c.Timeout == 0 {
		return Never
	}
	return 4096 * time.Nanosecond << c.Timeout
}
