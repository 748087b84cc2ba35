package pcapfile

// Compression names the compression of a file that begins with head: "gzip", "zstd", "xz", or "" for none that is
// read here. Six bytes are enough.
func Compression(head []byte) string { return sniff(head).compression() }
