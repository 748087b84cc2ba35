package metaroce

import "errors"

// The ways in which a decoder can fail. All are preallocated; the packet's [Fault] says where and why.
var (
	// ErrTruncated: a header goes on past the captured bytes while the wire had them.
	ErrTruncated = errors.New("cut by the capture")
	// ErrMalformed: the packet contradicts its profile. When its reason is in doubt, the ICRC decides whether it
	// is a packet of the profile at all.
	ErrMalformed = errors.New("malformed")
	// ErrNotMetaRoCE: version, type or lengths are wrong and the ICRC does not vouch for the packet. The ports of
	// the profiles are dynamic ones, so that other programs' packets arrive there, too.
	ErrNotMetaRoCE = errors.New("not MetaRoCE")
)

// Reason says in one code why a packet is not decoded, or malformed.
type Reason uint8

// Reasons.
const (
	ReasonNone          Reason = iota
	ReasonCut                  // with ErrTruncated
	ReasonVersion              // the version is not the profile's
	ReasonType                 // the type is reserved
	ReasonHeaders              // the headers do not fit into the UDP length
	ReasonPayloadLength        // payload_length differs from what is there
	ReasonPayload              // payload behind a type that has none
	ReasonFlag                 // a flag that announces a header stands on a packet that may not bear it
	ReasonFirst                // FIRST disagrees with message_offset = 0
	ReasonLast                 // LAST disagrees with message_offset + payload_length = message_length
	ReasonOffset               // message_offset, or the payload's end, passes message_length
	ReasonRange                // a field is out of its range
)

var reasonPhrases = [...]string{
	ReasonNone:          "",
	ReasonCut:           "cut by the capture",
	ReasonVersion:       "version is not the profile's",
	ReasonType:          "reserved type",
	ReasonHeaders:       "headers do not fit into the UDP length",
	ReasonPayloadLength: "payload length differs from what is there",
	ReasonPayload:       "payload behind a type that has none",
	ReasonFlag:          "flag on a packet that may not bear its header",
	ReasonFirst:         "FIRST disagrees with the message offset",
	ReasonLast:          "LAST disagrees with the message length",
	ReasonOffset:        "message offset passes the message length",
	ReasonRange:         "out of range",
}

// String is a phrase for people, without its place: "reserved type".
func (r Reason) String() string {
	if int(r) < len(reasonPhrases) {
		return reasonPhrases[r]
	}
	return "unknown"
}

// InDoubt tells whether a packet with this reason may be another program's: only a right ICRC makes it a
// malformed packet then. These are the checks of version, type and lengths.
func (r Reason) InDoubt() bool { return r >= ReasonVersion && r <= ReasonPayload }

// Fault is the place and reason of a decode error. Header and Field are indexes into the [Profile].
type Fault struct {
	Reason Reason
	Header uint8  // the header at fault
	Field  uint8  // the field at fault, [NoField] when it is the header as a whole
	Offset uint16 // of that header or field in bytes from the start of the UDP payload
}

// NoField is the Field of a [Fault] that is about no single field.
const NoField = 0xff
