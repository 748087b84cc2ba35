package portstat

import "regexp"

// Meaning says in a sentence what a counter counts, as the kernel and the makers of NICs describe it
// (Documentation/ABI/stable/sysfs-class-infiniband, Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst,
// drivers/infiniband/hw/bnxt_re/hw_counters.h). It is empty for counters that are not explained, and for settings.
func Meaning(name string) string {
	return meanings[priority.ReplaceAllString(name, "prio*")]
}

// priority is the part of a name that says which priority is counted.
var priority = regexp.MustCompile(`prio[0-7]`)

var meanings = map[string]string{
	// Of NVIDIA's NICs, hw_counters.
	"out_of_sequence":            "Packets that arrived here out of order: something before them was lost or overtaken, and a NAK asks for it again",
	"packet_seq_err":             "NAKs for a sequence error that came back for what this host sent: its packets were lost on the way, or overtook each other",
	"local_ack_timeout_err":      "Times that this host sent again because no ACK had come in time",
	"rnr_nak_retry_err":          "RNR NAKs that came back: the receiver at the other end had no buffer posted, and this host waits",
	"np_cnp_sent":                "CNPs that this host sent, because packets came marked by a congested switch: the senders are asked to slow down",
	"np_ecn_marked_roce_packets": "RoCEv2 packets that came with the mark of a congested switch (CE)",
	"rp_cnp_handled":             "CNPs that this host obeyed by sending slower",
	"rp_cnp_ignored":             "CNPs that came and were not obeyed: congestion control may be off for this priority",
	"out_of_buffer":              "Packets dropped here because no receive was posted",
	"duplicate_request":          "Requests that came again: the ACK was lost, or the sender did not wait long enough",
	"implied_nak_seq_err":        "Answers that came with a later PSN than awaited: an answer before them was lost",
	"roce_adp_retrans":           "Retransmissions that adaptive retransmission began",
	"roce_adp_retrans_to":        "Timeouts that adaptive retransmission had shortened",
	"roce_slow_restart":          "Times that a connection began again slowly after a pause",
	"req_cqe_error":              "Requests of this host that ended with an error",
	"resp_cqe_error":             "Receives of this host that ended with an error",
	"resp_local_length_error":    "Requests that did not fit into the receive that was posted",
	"req_remote_access_errors":   "Requests of this host that the other end refused, as its memory is protected",
	"resp_remote_access_errors":  "Requests that this host refused, as its memory is protected",
	"req_remote_invalid_request": "Requests of this host that the other end found invalid",
	"rx_icrc_encapsulated":       "RoCE packets that came damaged: their ICRC is wrong",
	"rx_write_requests":          "RDMA WRITE requests that came",
	"rx_read_requests":           "RDMA READ requests that came",
	"rx_atomic_requests":         "Atomic requests that came",
	// Of Broadcom's NICs, hw_counters.
	"rx_ecn_marked_pkts":   "RoCE packets that came with the mark of a congested switch (CE)",
	"tx_cnp_pkts":          "CNPs that this host sent, because packets came marked by a congested switch",
	"rx_cnp_pkts":          "CNPs that came: this host is asked to send slower",
	"rx_out_of_sequence":   "Packets that arrived here out of order",
	"oos_drop_count":       "Packets dropped here because they came out of order",
	"to_retransmits":       "Times that this host sent again because no ACK had come in time",
	"seq_err_naks_rcvd":    "NAKs for a sequence error that came back for what this host sent",
	"rnr_naks_rcvd":        "RNR NAKs that came back: the receiver at the other end had no buffer posted",
	"max_retry_exceeded":   "Connections that broke, as they had sent again as often as they may",
	"missing_resp":         "Answers that this host awaited in vain",
	"dup_req":              "Requests that came again",
	"rx_roce_only_pkts":    "RoCE packets that came",
	"tx_roce_only_pkts":    "RoCE packets that this host sent",
	"rx_roce_discard_pkts": "RoCE packets dropped here on arrival",
	"tx_roce_discard_pkts": "RoCE packets dropped here before they were sent",
	// Of every RDMA port.
	"port_xmit_data":                  "Data sent, in units of 4 bytes",
	"port_rcv_data":                   "Data received, in units of 4 bytes",
	"port_xmit_packets":               "Packets sent",
	"port_rcv_packets":                "Packets received",
	"port_xmit_wait":                  "Ticks in which there was something to send and nothing was sent: the port was paused, or had no credits",
	"port_xmit_discards":              "Packets dropped on the way out, as the port was down or jammed",
	"port_rcv_errors":                 "Packets that came damaged",
	"port_rcv_remote_physical_errors": "Packets that came and were already known to be damaged",
	"port_rcv_constraint_errors":      "Packets refused on arrival by what the port allows",
	"port_xmit_constraint_errors":     "Packets not sent by what the port allows",
	"symbol_error":                    "Faults of the line, as the port saw them",
	"link_downed":                     "Times that the link failed",
	"link_error_recovery":             "Times that the link recovered from faults",
	"local_link_integrity_errors":     "Times that faults of the line exceeded their limit",
	"excessive_buffer_overrun_errors": "Times that receive buffers overflowed for long",
	// Of drivers, as ethtool -S has them.
	"rx_pause_ctrl_phy":             "Pause frames of the whole link that came: the other side of the link asks this port to stop",
	"tx_pause_ctrl_phy":             "Pause frames of the whole link that this port sent: it cannot keep up",
	"rx_prio*_pause":                "PFC frames that came for this priority: the switch asks this port to stop",
	"tx_prio*_pause":                "PFC frames that this port sent for this priority: it cannot keep up",
	"rx_prio*_pause_duration":       "For how long PFC held this priority back, µs",
	"tx_prio*_pause_duration":       "For how long this port held the other side back with PFC, µs",
	"rx_prio*_pause_transition":     "Times that this priority was stopped and let go on",
	"rx_prio*_discards":             "Packets of this priority dropped on arrival, as the port's buffer was full",
	"rx_prio*_buf_discard":          "Packets of this priority dropped on arrival, as its buffer was full",
	"rx_prio*_cong_discard":         "Packets of this priority dropped on arrival by congestion",
	"rx_prio*_marked":               "Packets of this priority that the NIC itself marked as congested (CE)",
	"rx_discards_phy":               "Packets dropped on arrival, as the port's buffer was full",
	"tx_discards_phy":               "Packets dropped on the way out",
	"tx_pause_storm_warning_events": "Times that this port sent pause frames for suspiciously long",
	"tx_pause_storm_error_events":   "Times that this port sent pause frames for so long that they were stopped",
	"rx_out_of_buffer":              "Frames dropped, as the host was late with buffers",
	// Of every network interface.
	"rx_bytes":         "Bytes received through the kernel",
	"tx_bytes":         "Bytes sent through the kernel",
	"rx_packets":       "Frames received through the kernel",
	"tx_packets":       "Frames sent through the kernel",
	"rx_dropped":       "Frames that came and that the kernel did not take",
	"tx_dropped":       "Frames that the kernel did not get sent",
	"rx_errors":        "Frames that came damaged",
	"tx_errors":        "Frames that could not be sent",
	"rx_crc_errors":    "Frames whose checksum of Ethernet is wrong: a fault of the line",
	"rx_missed_errors": "Frames dropped, as the host was late with buffers",
	"rx_over_errors":   "Frames dropped, as the NIC's buffer overflowed",
	"rx_fifo_errors":   "Frames dropped, as the NIC's buffer overflowed",
	"multicast":        "Frames of multicast received",
}
