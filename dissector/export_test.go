package dissector

// DecodeWithoutShortcut is Decode without the straight line for usual frames.
func DecodeWithoutShortcut(data []byte, meta Meta, out *Packet) error {
	before := begin(out)
	out.Meta = meta
	out.Data = data
	return decodeAll(out, before)
}
