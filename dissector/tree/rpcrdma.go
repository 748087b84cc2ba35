package tree

import "fmt"

// rpcOverRDMA reads the transport header of RPC-over-RDMA version 1 with its chunk lists (RFC 8166, section 4). It
// answers how long it is.
func (g *group) rpcOverRDMA() int {
	const fixed, versionOne = 16, 1
	m := &group{node: &Node{Name: "RPC-over-RDMA", Field: "rpcordma", Offset: g.base}, data: g.data, base: g.base}
	m.hex("XID", "rpcordma.xid", 0, 4)
	m.uint("Version", "rpcordma.version", 4, 4)
	m.uint("Credits", "rpcordma.flow_control", 8, 4)
	kind := m.uint("Procedure", "rpcordma.msg_type", 12, 4)
	end := min(fixed, len(g.data))
	if names := [...]string{"RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP", "RDMA_DONE", "RDMA_ERROR"}; m.has(0, fixed) && m.value(12, 4) < uint64(len(names)) {
		kind.Meaning = names[m.value(12, 4)]
		m.node.Meaning = fmt.Sprintf("%s, XID 0x%08x", kind.Meaning, m.value(0, 4))
		if m.value(4, 4) == versionOne {
			end = m.procedure(fixed, m.value(12, 4))
		}
	}
	m.node.Length = end
	g.node.Children = append(g.node.Children, m.node)
	return end
}

// procedure reads what follows the fixed part of a header, and answers where that ends.
func (g *group) procedure(at int, procedure uint64) int {
	const (
		message, noMessage, padded, failure = 0, 1, 2, 4
		errVersion                          = 1
		word                                = 4
	)
	switch procedure {
	case padded:
		g.uint("Alignment", "rpcordma.rdma_align", at, word)
		g.uint("Threshold", "rpcordma.rdma_thresh", at+word, word)
		at += 2 * word
	case message, noMessage:
	case failure:
		code := g.uint("Error", "rpcordma.errcode", at, word)
		if g.has(at, 3*word) && g.value(at, word) == errVersion {
			code.Meaning = "ERR_VERS"
			g.uint("Lowest version", "rpcordma.vers_low", at+word, word)
			g.uint("Highest version", "rpcordma.vers_high", at+2*word, word)
			return at + 3*word
		}
		code.Meaning = "ERR_CHUNK"
		return min(at+word, len(g.data))
	default:
		return at
	}
	return min(g.chunkLists(at), len(g.data))
}

// chunkLists reads the read list, the write list and the reply chunk (RFC 8166, section 4.4.2 to 4.4.4). Each item is
// announced by a word that is 1.
func (g *group) chunkLists(at int) int {
	const word, segment = 4, 16
	follows := func(what string) bool {
		if !g.has(at, word) {
			at = len(g.data)
			return false
		}
		g.uint(what+" follows", "", at, word)
		at += word
		return g.value(at-word, word) == 1
	}
	reads := uint64(0)
	for ; follows("Read chunk"); reads++ {
		g.uint("Read chunk's position", "rpcordma.position", at, word)
		g.segment(at + word)
		at += word + segment
	}
	g.computed("Read chunks", "rpcordma.reads_count", reads, "")
	array := func() {
		count := g.value(at, word)
		g.uint("Segments", "rpcordma.segment_count", at, word)
		at += word
		for ; count > 0 && g.has(at, segment); count-- {
			g.segment(at)
			at += segment
		}
	}
	writes := uint64(0)
	for ; follows("Write chunk"); writes++ {
		array()
	}
	g.computed("Write chunks", "rpcordma.writes_count", writes, "")
	reply := uint64(0)
	if follows("Reply chunk") {
		reply = 1
		array()
	}
	g.computed("Reply chunks", "rpcordma.reply_count", reply, "")
	return at
}

// segment reads a piece of registered memory, 16 bytes.
func (g *group) segment(at int) {
	g.hex("Handle", "rpcordma.rdma_handle", at, 4)
	g.uint("Length", "rpcordma.rdma_length", at+4, 4)
	g.hex("Offset", "rpcordma.rdma_offset", at+8, 8)
}
