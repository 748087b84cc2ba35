package headers

import "encoding/binary"

const (
	macLength = 12
	tagLength = 4
)

// tag puts a VLAN tag back that the kernel took out of the frame of a record, by moving the addresses to the front, over
// what the record says before its bytes. It answers where the frame begins then.
func tag(b []byte, tpid, tci uint16) int {
	begin := dataAt - tagLength
	copy(b[begin:], b[dataAt:dataAt+macLength])
	binary.BigEndian.PutUint16(b[begin+macLength:], tpid)
	binary.BigEndian.PutUint16(b[begin+macLength+2:], tci)
	return begin
}
