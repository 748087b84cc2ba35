package tree

import "fmt"

// nvme reads the capsules of NVMe over Fabrics (NVM Express over Fabrics 1.1, section 2.1): a completion has 16 bytes, a
// command 64 and the data that it may bring along. It answers how long it is.
func (g *group) nvme(whole int) int {
	const completion, command = 16, 64
	switch {
	case whole == completion:
		g.nvmeCompletion(g.part("NVMe completion", "nvme", 0, completion))
		return completion
	case whole == 0 || whole >= command:
		g.nvmeCommand(g.part("NVMe command", "nvme", 0, command))
		return command
	}
	return 0
}

func (g *group) nvmeCompletion(m *group) {
	m.leHex("Command specific, DWord 0", "nvme.cqe.dword0", 0, 4)
	m.leHex("Command specific, DWord 1", "nvme.cqe.dword1", 4, 4)
	m.leHex("Submission queue's head", "nvme.cqe.sqhd", 8, 2)
	m.leHex("Submission queue", "nvme.cqe.sqid", 10, 2)
	m.leHex("Command identifier", "nvme.cqe.cid", 12, 2)
	status := m.leHex("Status", "nvme.cqe.status", 14, 2)
	if v, ok := status.Value.(uint64); ok && m.has(14, 2) {
		const statusCode, codeType = 0xff, 0x7
		status.Meaning += fmt.Sprintf(", status code type %d, code 0x%02x", v>>9&codeType, v>>1&statusCode)
		m.node.Meaning = fmt.Sprintf("command 0x%04x completed", m.lsb(12))
		if v>>1&statusCode|v>>9&codeType != 0 {
			m.node.Meaning = fmt.Sprintf("command 0x%04x failed: status code type %d, code 0x%02x", m.lsb(12), v>>9&codeType, v>>1&statusCode)
		}
	}
}

// nvmeCommand reads what all commands have in common. What an opcode other than that of Fabrics commands means depends
// on the queue that the connection is, which its packets do not say.
func (g *group) nvmeCommand(m *group) {
	const fabrics = 0x7f
	if m.has(0, 1) && m.data[0] == fabrics {
		m.nvmeFabrics()
		return
	}
	m.hex("Opcode", "nvme.cmd.opc", 0, 1)
	m.bits("PRP or SGL", "nvme.cmd.psdt", 8, 2)
	m.bits("Reserved", "nvme.cmd.rsvd", 10, 4)
	m.bits("Fused operation", "nvme.cmd.fuse_op", 14, 2)
	m.leHex("Command identifier", "nvme.cmd.cid", 2, 2)
	m.leHex("Namespace", "nvme.cmd.nsid", 4, 4)
	m.bytes("DWord 2 and 3", "", 8, 8)
	m.leHex("Metadata pointer", "nvme.cmd.mptr", 16, 8)
	m.nvmeSGL()
	for i := range 6 {
		m.leHex(fmt.Sprintf("DWord %d", 10+i), fmt.Sprintf("nvme.cmd.dword%d", 10+i), 40+4*i, 4)
	}
	if m.has(0, 8) {
		m.node.Meaning = fmt.Sprintf("opcode 0x%02x, command 0x%04x", m.data[0], m.lsb(2))
	}
}

func (g *group) nvmeFabrics() {
	g.bytes("Opcode", "nvme.fabrics.cmd.opc", 0, 1)
	g.hex("Reserved", "nvme.fabrics.cmd.rsvd", 1, 1)
	g.leHex("Command identifier", "nvme.fabrics.cmd.cid", 2, 2)
	kind := g.hex("Fabrics command", "nvme.fabrics.cmd.fctype", 4, 1)
	name := map[uint64]string{
		0x00: "Property Set", 0x01: "Connect", 0x04: "Property Get", 0x05: "Authentication Send", 0x06: "Authentication Receive", 0x08: "Disconnect",
	}[g.value(4, 1)]
	kind.Meaning = named(kind.Meaning, name)
	g.bytes("Reserved", "", 5, 19)
	if name == "Connect" {
		g.nvmeSGL()
		g.le("Record format", "nvme.fabrics.cmd.connect.recfmt", 40, 2)
		g.le("Queue", "nvme.fabrics.cmd.connect.qid", 42, 2)
		g.le("Submission queue's size, less one", "nvme.fabrics.cmd.connect.sqsize", 44, 2)
		g.rest("Specific to the command", "", 46)
	} else {
		g.rest("Specific to the command", "", 24)
	}
	if g.has(0, 8) {
		g.node.Meaning = fmt.Sprintf("Fabrics %s, command 0x%04x", name, g.lsb(2))
	}
}

// nvmeSGL reads the one data block that a capsule describes, 16 bytes: on RDMA one with a key (NVM Express base
// specification 1.4, section 4.4).
func (g *group) nvmeSGL() {
	const at, keyed = 24, 4
	s := g.part("SGL entry", "nvme.cmd.sgl1", at, 16)
	if !s.has(0, 16) {
		return
	}
	kind := s.data[15] >> 4
	if kind == keyed {
		s.leHex("Address", "nvme.cmd.sgl1.addr", 0, 8)
		s.le("Length", "nvme.cmd.sgl1.len", 8, 3)
		s.leHex("Key", "nvme.cmd.sgl1.key", 11, 4)
	} else {
		s.leHex("Address", "nvme.cmd.sgl1.addr", 0, 8)
		s.le("Length", "nvme.cmd.sgl1.len", 8, 4)
		s.bytes("Reserved", "nvme.cmd.sgl1.rsvd", 12, 3)
	}
	s.bits("Descriptor type", "nvme.cmd.sgl.type", 120, 4).Meaning = [16]string{
		"data block", "bit bucket", "segment", "last segment", "keyed data block", "transport data block", 15: "vendor specific",
	}[kind]
	s.bits("Descriptor subtype", "nvme.cmd.sgl.subtype", 124, 4)
}
