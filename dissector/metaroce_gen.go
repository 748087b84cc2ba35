// Code generated from the MetaRoCE profiles. DO NOT EDIT.

package dissector

import (
	"net/netip"

	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// MetaRoCEProfile names a wire profile of MetaRoCE.
type MetaRoCEProfile uint8

// Wire profiles.
const (
	MetaRoCENone MetaRoCEProfile = iota // the packet is no MetaRoCE
	MetaRoCEMR0                         // MetaRoCE, profile mr0
)

// MetaRoCE is what was decoded of a MetaRoCE packet, by the profile that its port is bound to. The packet of that
// profile is filled in, the others are zero.
type MetaRoCE struct {
	Profile MetaRoCEProfile
	MR0     mr0.Packet
}

// MetaRoCEProfiles describes the wire profiles.
func MetaRoCEProfiles() []*metaroce.Profile {
	return []*metaroce.Profile{&mr0.Profile}
}

// profileOfPort is the profile whose own port it is.
func profileOfPort(port uint16) MetaRoCEProfile {
	switch port {
	case mr0.Port:
		return MetaRoCEMR0
	}
	return MetaRoCENone
}

// Decoded is the decoded packet for code that walks its fields, nil when there is none. It aliases m.
func (m *MetaRoCE) Decoded() metaroce.Decoded {
	switch m.Profile {
	case MetaRoCEMR0:
		return &m.MR0
	case MetaRoCENone:
	}
	return nil
}

// ComputeICRC is the ICRC of a UDP payload that ends before it, by the rule of the packet's profile.
func (m *MetaRoCE) ComputeICRC(payload []byte, source, destination netip.AddrPort) uint32 {
	switch m.Profile {
	case MetaRoCEMR0:
		return mr0.ComputeICRC(payload, source, destination)
	case MetaRoCENone:
	}
	return 0
}

// decode reads a UDP payload of length bytes, of which data are captured, by the profile that use has set.
func (m *MetaRoCE) decode(data []byte, length int) error {
	switch m.Profile {
	case MetaRoCEMR0:
		return mr0.DecodeCaptured(data, length, &m.MR0)
	case MetaRoCENone:
	}
	return metaroce.ErrNotMetaRoCE
}

// use makes m ready for a packet of a profile.
func (m *MetaRoCE) use(profile MetaRoCEProfile) {
	if m.Profile != profile {
		m.reset(profile)
	}
}

// reset leaves the packet of another profile behind.
//
//go:noinline
func (m *MetaRoCE) reset(profile MetaRoCEProfile) { *m = MetaRoCE{Profile: profile} }

// payloadOffset is where the transport payload of a packet that was decoded begins, in bytes from the start of the
// UDP payload.
func (m *MetaRoCE) payloadOffset() int {
	switch m.Profile {
	case MetaRoCEMR0:
		return int(m.MR0.PayloadOffset)
	case MetaRoCENone:
	}
	return 0
}

// headers is the size in bytes of the headers that were read.
func (m *MetaRoCE) headers() int {
	switch m.Profile {
	case MetaRoCEMR0:
		return m.MR0.HeaderBytes()
	case MetaRoCENone:
	}
	return 0
}

// Fault is what the profile's decoder found wrong.
func (m *MetaRoCE) Fault() metaroce.Fault {
	switch m.Profile {
	case MetaRoCEMR0:
		return m.MR0.Fault
	case MetaRoCENone:
	}
	return metaroce.Fault{}
}
