package blocks

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

// metaFlowColumns are the columns of flows that MetaRoCE alone fills.
type metaFlowColumns struct {
	profile    names
	handshake  names
	reject     names
	disconnect names
	counts     [len(metaFlowCounts)]NullUint64s
}

// metaFlowCount is a column of flows that is a number of MetaRoCE, and where it is in a record that is read again.
type metaFlowCount struct {
	name  string
	count func(*flow.MetaRoCERecord) flow.Count
}

func always(n uint64) flow.Count { return flow.Count{N: n, Known: true} }

var metaFlowCounts = [...]metaFlowCount{
	{"connection_requests", func(r *flow.MetaRoCERecord) flow.Count { return always(r.Requests) }},
	{"accept_time_ns", func(r *flow.MetaRoCERecord) flow.Count { return r.AcceptTime }},
	{"declared_paths", func(r *flow.MetaRoCERecord) flow.Count { return r.PathCount }},
	{"declared_planes", func(r *flow.MetaRoCERecord) flow.Count { return r.PlaneCount }},
	{"declared_mtu", func(r *flow.MetaRoCERecord) flow.Count { return r.MTU }},
	{"link_rate_mbps", func(r *flow.MetaRoCERecord) flow.Count { return r.LinkRate }},
	{"initial_psn", func(r *flow.MetaRoCERecord) flow.Count { return r.InitialPSN }},
	{"declared_streams", func(r *flow.MetaRoCERecord) flow.Count { return r.StreamCount }},
	{"max_window", func(r *flow.MetaRoCERecord) flow.Count { return r.MaxWindow }},
	{"paths_seen", func(r *flow.MetaRoCERecord) flow.Count { return always(uint64(len(r.Paths))) }},
	{"streams_seen", func(r *flow.MetaRoCERecord) flow.Count { return always(uint64(len(r.Streams))) }},
	{"untracked_stream_packets", func(r *flow.MetaRoCERecord) flow.Count { return always(r.UntrackedStreams) }},
	{"probes", func(r *flow.MetaRoCERecord) flow.Count { return always(r.Probes) }},
	{"rate_hint_last_mbps", func(r *flow.MetaRoCERecord) flow.Count { return r.RateHint.Last }},
	{"rate_hint_min_mbps", func(r *flow.MetaRoCERecord) flow.Count { return r.RateHint.Min }},
	{"rate_hint_max_mbps", func(r *flow.MetaRoCERecord) flow.Count { return r.RateHint.Max }},
	{"rate_hint_unlimited", func(r *flow.MetaRoCERecord) flow.Count { return always(r.RateHint.Unlimited) }},
}

// Codes of the columns profile, handshake, reject_reason and disconnect_reason: 0 none, otherwise one more than the
// number in the record.
func profileName(code uint8) string { return [...]string{"", "mr0"}[code] }

func handshakeName(code uint8) string {
	if code == 0 {
		return ""
	}
	return flow.Handshake(code - 1).String()
}

func rejectName(code uint8) string {
	if code == 0 {
		return ""
	}
	return mr0.RejectReason(code - 1).String()
}

func disconnectName(code uint8) string {
	if code == 0 {
		return ""
	}
	return mr0.DisconnectReason(code - 1).String()
}

func (c *metaFlowColumns) fields() []lateField {
	c.profile.name, c.handshake.name = profileName, handshakeName
	c.reject.name, c.disconnect.name = rejectName, disconnectName
	fields := []lateField{
		{"profile", &c.profile}, {"handshake", &c.handshake}, {"reject_reason", &c.reject}, {"disconnect_reason", &c.disconnect},
	}
	for i := range c.counts {
		fields = append(fields, lateField{metaFlowCounts[i].name, &c.counts[i]})
	}
	return fields
}

// Append adds what a flow of MetaRoCE has.
func (c *metaFlowColumns) Append(r *flow.MetaRoCERecord) {
	c.profile.Append(1)
	c.handshake.Append(uint8(r.Handshake) + 1)
	var reject, disconnect uint8
	if r.Handshake == flow.HandshakeRejected {
		reject = uint8(r.RejectReason) + 1
	}
	if r.Disconnected {
		disconnect = uint8(r.DisconnectReason) + 1
	}
	c.reject.Append(reject)
	c.disconnect.Append(disconnect)
	for i := range c.counts {
		n := metaFlowCounts[i].count(r)
		c.counts[i].Append(n.Known, n.N)
	}
}
