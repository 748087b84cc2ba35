package finding

// Rules of MetaRoCE, profile mr0, in the order of the catalogue.
const (
	// What one packet says of itself.
	MetaRoCEVersion Rule = iota + RoCERuleCount
	MetaRoCEMalformed
	MetaRoCEICRC
	MetaRoCEReservedBits
	MetaRoCECodes
	MetaRoCEUnusedFields
	MetaRoCESequencedECN
	MetaRoCEAnswerECN
	MetaRoCEPartitionKey

	// Connecting.
	MetaRoCEConnNonce
	MetaRoCEConnRetry
	MetaRoCEConnChanged
	MetaRoCEDisconnectUnanswered
	MetaRoCEAfterDisconnect

	// Paths.
	MetaRoCEPathOrder
	MetaRoCEInitialPSN
	MetaRoCEPathRange
	MetaRoCEPortCollision
	MetaRoCEAnswerPort
	MetaRoCEPathUnused
	MetaRoCEWindow
	MetaRoCESACKWindow

	// Retransmission.
	MetaRoCERetransmissionFlag
	MetaRoCEFirstFlagged
	MetaRoCERetransmissionTimestamp
	MetaRoCERetransmissionContent
	MetaRoCERetransmissionUnfounded
	MetaRoCEAcknowledgedResent
	MetaRoCELostAgainEarly
	MetaRoCEGapNotResent
	MetaRoCEMovedWithoutFailure
	MetaRoCEFailedPathKept
	MetaRoCEProbePort
	MetaRoCEProbeInterval

	// Messages.
	MetaRoCEMTU
	MetaRoCEMessageCut
	MetaRoCEMessageLength
	MetaRoCEMessageType
	MetaRoCEPlacement
	MetaRoCEReceiveIndex
	MetaRoCEReceiveIndexReused
	MetaRoCEBytesTwice
	MetaRoCEMSNSkipped
	MetaRoCEStreamRange
	MetaRoCEReadResponse
	MetaRoCEAtomicResponse
	MetaRoCEAtomicRepeated

	// Acknowledgments.
	MetaRoCEAckBackwards
	MetaRoCEAckReneged
	MetaRoCEAckUnsent
	MetaRoCEAckNumber
	MetaRoCEPacketCount
	MetaRoCECECount
	MetaRoCEEchoUnsent
	MetaRoCEAckTrigger
	MetaRoCEAckEvery
	MetaRoCEAckDelay
	MetaRoCEAckRequested
	MetaRoCEAckGap
	MetaRoCEAckDuplicate
	MetaRoCEAckCEChange
	MetaRoCEAckMessageEnd

	// Rate.
	MetaRoCEHintRange
	MetaRoCEHintExceeded
	MetaRoCEHintAnnounced
	MetaRoCECEIgnored

	// Refusals.
	MetaRoCENAKReason
	MetaRoCENAKMatch
	MetaRoCERetryEarly
	MetaRoCEAfterFatalNAK

	metaroceEnd

	MetaRoCERuleCount = int(metaroceEnd) - RoCERuleCount
)

var metaroceRules = [MetaRoCERuleCount]Description{
	MetaRoCEVersion - RoCERuleCount: {
		ID: "metaroce.version", Title: "the version is the profile's", Severity: Error,
		Diverges: "a packet with the right ICRC has another version",
		Source:   "mr0, Packets", Next: "Which profile each end speaks.",
	},
	MetaRoCEMalformed - RoCERuleCount: {
		ID: "metaroce.malformed", Title: "headers, flags and lengths of a packet fit together", Severity: Error,
		Diverges: "a packet with the right ICRC contradicts itself; the decoder's reason says how",
		Source:   "mr0, Packets", Next: "Firmware of the sender.",
	},
	MetaRoCEICRC - RoCERuleCount: {
		ID: "metaroce.icrc", Title: "the ICRC is right", Severity: Error,
		Diverges:     "it is wrong in every packet of the sender, eight or more, so that no damage on the way explains it",
		Undetermined: "it is wrong in some: they may have been damaged, or a device on the way rewrote a field that it covers",
		Source:       "mr0, Packets", Next: "NAT or a tunnel that rewrites addresses or ports; otherwise cables and the error counters of the links.",
	},
	MetaRoCEReservedBits - RoCERuleCount: {
		ID: "metaroce.reserved-bits", Title: "reserved fields and flags are sent as zero", Severity: Notice,
		Diverges: "one of them is not zero",
		Source:   "mr0, layout", Next: "Whether the sender uses an extension; a peer must ignore them.",
	},
	MetaRoCECodes - RoCERuleCount: {
		ID: "metaroce.codes", Title: "triggers, reasons and operations are ones that the profile defines", Severity: Error,
		Diverges: "a packet with the right ICRC has a code that is not defined",
		Source:   "mr0, layout", Next: "Which profile each end speaks; firmware of the sender.",
	},
	MetaRoCEUnusedFields - RoCERuleCount: {
		ID: "metaroce.unused-fields", Title: "fields that a packet type does not use are zero", Severity: Notice,
		Diverges: "the psn of a packet of connecting or of a NAK, dest_conn_id of a CONN_REQ, or retry_after of a NAK for another reason than receiver_not_ready is not zero",
		Source:   "mr0, layout", Next: "Firmware of the sender.",
	},
	MetaRoCESequencedECN - RoCERuleCount: {
		ID: "metaroce.sequenced-ecn", Title: "sequenced packets are sent ECN-capable, codepoint 10", Severity: Warning,
		Diverges:     "eight or more sequenced packets of the sender had codepoint 00 or 01",
		Undetermined: "some were: a device on the way may have cleared the codepoint",
		Source:       "mr0, Packets", Next: "Whether a switch or tunnel on the way clears ECN; then the settings of the sender. Without it congestion shows as loss only.",
	},
	MetaRoCEAnswerECN - RoCERuleCount: {
		ID: "metaroce.answer-ecn", Title: "packets without a path sequence number are not ECN-capable, codepoint 00", Severity: Notice,
		Diverges: "an ACK, a NAK or a packet of connecting is ECN-capable",
		Source:   "mr0, Packets; RFC 3168", Next: "Settings of the sender.",
	},
	MetaRoCEPartitionKey - RoCERuleCount: {
		ID: "metaroce.partition-key", Title: "an end of a connection keeps its partition key", Severity: Warning,
		Diverges: "the key changes within the connection",
		Source:   "mr0, layout", Next: "Whether the connection id was given to another connection.",
	},

	MetaRoCEConnNonce - RoCERuleCount: {
		ID: "metaroce.conn-nonce", Title: "CONN_REP and CONN_REJ echo the nonce of the request", Severity: Error,
		Diverges: "the answer to a request that was seen, and was the only one of its id, has another nonce",
		Source:   "mr0, Connecting", Next: "Firmware of the answering end: the requester drops the answer.",
	},
	MetaRoCEConnRetry - RoCERuleCount: {
		ID: "metaroce.conn-retry", Title: "a CONN_REQ is repeated after rto_initial, doubling, five times", Severity: Warning,
		Diverges:     "two repetitions and more came earlier, or there were more than five",
		Undetermined: "one repetition came earlier: the network may have doubled and delayed it",
		Source:       "mr0, Connecting", Next: "Timers of the requester: it floods a peer that is not ready.",
	},
	MetaRoCEConnChanged - RoCERuleCount: {
		ID: "metaroce.conn-changed", Title: "a repeated CONN_REQ or CONN_REP says what the first has said", Severity: Error,
		Diverges: "with the same nonce and id another parameter changed",
		Source:   "mr0, Connecting", Next: "Firmware of the sender: the ends may not agree upon window, MTU or psn.",
	},
	MetaRoCEDisconnectUnanswered - RoCERuleCount: {
		ID: "metaroce.disconnect-unanswered", Title: "a DISCONNECT is answered by a DISCONNECT", Severity: Warning,
		Diverges:     "several passed unanswered while the peer went on with the connection",
		Undetermined: "there was no answer, or not yet: it may have been lost, missed, or the peer is gone",
		Source:       "mr0, Connecting", Next: "State of the connection at the peer; loss on its way.",
	},
	MetaRoCEAfterDisconnect - RoCERuleCount: {
		ID: "metaroce.after-disconnect", Title: "an end that has sent DISCONNECT sends neither data nor ACKs", Severity: Error,
		Diverges:     "it went on for longer than packets are under way",
		Undetermined: "packets came behind the DISCONNECT: they may have been under way",
		Source:       "mr0, Connecting", Next: "State of the connection at its sender.",
	},

	MetaRoCEPathOrder - RoCERuleCount: {
		ID: "metaroce.path-order", Title: "on a path sequence numbers rise as packets leave", Severity: Error,
		Diverges: "by its timestamp a packet left later than one with a higher psn, and both for the first time",
		Source:   "mr0, Packets", Next: "Firmware of the sender: the receiver takes what is late on an ordered path for lost.",
	},
	MetaRoCEInitialPSN - RoCERuleCount: {
		ID: "metaroce.initial-psn", Title: "path i starts at initial_psn + i·2²⁰", Severity: Error,
		Diverges:     "a path begins before that, or 2²⁰ and more behind it",
		Undetermined: "it begins more than a window behind it: the capture may have missed what was before",
		Source:       "mr0, Packets", Next: "Firmware of the sender: the receiver drops what it does not expect.",
	},
	MetaRoCEPathRange - RoCERuleCount: {
		ID: "metaroce.path-range", Title: "path_id is below the path_count that the sender announced", Severity: Error,
		Diverges: "a sequenced packet, or an ACK or NAK for one, names a path beyond it",
		Source:   "mr0, Connecting", Next: "Firmware of the sender: its peer drops these packets.",
	},
	MetaRoCEPortCollision - RoCERuleCount: {
		ID: "metaroce.port-collision", Title: "each path has a UDP source port of its own", Severity: Warning,
		Diverges: "two paths with one address use one port in turn",
		Source:   "mr0, Packets", Next: "How the sender draws ports: both paths take one way, and the load is not spread.",
	},
	MetaRoCEAnswerPort - RoCERuleCount: {
		ID: "metaroce.answer-port", Title: "ACKs and NAKs leave from the source port of the own path path_id mod path_count", Severity: Warning,
		Diverges:     "answers for different paths leave from one port though they belong to different own paths, or from another port than that own path's data, again and again",
		Undetermined: "it happened seldom: a port may have changed between",
		Source:       "mr0, Packets", Next: "Firmware of the receiver: all its answers share one way through the network.",
	},
	MetaRoCEPathUnused - RoCERuleCount: {
		ID: "metaroce.path-unused", Title: "packets are sprayed over all paths", Severity: Warning,
		Diverges: "a path was never used, though whole messages with 32 packets for each path passed, none of their bytes amiss",
		Source:   "mr0, Sender", Next: "Path choice of the sender; whether it found the path failed.",
	},
	MetaRoCEWindow - RoCERuleCount: {
		ID: "metaroce.window", Title: "at most max_window packets are in flight on a path", Severity: Error,
		Diverges:     "more were under way behind the last acknowledged one, again and again, and no ACK between was missed",
		Undetermined: "it seems so, but ACKs that the capture missed may have opened the window",
		Source:       "mr0, Sender", Next: "Which max_window each end announced.",
	},
	MetaRoCESACKWindow - RoCERuleCount: {
		ID: "metaroce.sack-window", Title: "nothing is sent beyond cumulative_psn + 256", Severity: Error,
		Diverges:     "packets were, again and again, and no ACK between was missed",
		Undetermined: "it seems so, but ACKs that the capture missed may have moved cumulative_psn",
		Source:       "mr0, Receiver", Next: "Firmware of the sender: the receiver drops these packets.",
	},

	MetaRoCERetransmissionFlag - RoCERuleCount: {
		ID: "metaroce.retransmission-flag", Title: "a retransmission has RTX set", Severity: Error,
		Diverges: "a psn was sent twice without it, with two timestamps, so that it is no copy",
		Source:   "mr0, Sender", Next: "Firmware of the sender.",
	},
	MetaRoCEFirstFlagged - RoCERuleCount: {
		ID: "metaroce.first-flagged", Title: "a first transmission has no RTX set", Severity: Warning,
		Diverges:     "bytes beyond all that were sent before bore it, more often than lost and missed packets explain",
		Undetermined: "it happened: the first transmission may have been lost before the capture, or been missed",
		Source:       "mr0, Sender", Next: "Firmware of the sender.",
	},
	MetaRoCERetransmissionTimestamp - RoCERuleCount: {
		ID: "metaroce.retransmission-timestamp", Title: "a retransmission has a new timestamp", Severity: Warning,
		Diverges: "it has that of the first transmission",
		Source:   "mr0, Sender", Next: "Firmware of the sender: its round-trip times and what it finds lost again depend on it.",
	},
	MetaRoCERetransmissionContent - RoCERuleCount: {
		ID: "metaroce.retransmission-content", Title: "a retransmission bears what the psn has borne before", Severity: Error,
		Diverges: "type, stream, message, offset or length differ, and it is no PROBE",
		Source:   "mr0, Sender", Next: "Firmware of the sender: the receiver takes it for a duplicate, and bytes are lost.",
	},
	MetaRoCERetransmissionUnfounded - RoCERuleCount: {
		ID: "metaroce.retransmission-unfounded", Title: "what is sent again was found lost by an ACK, refused, or timed out", Severity: Warning,
		Diverges:     "packets were sent again sooner than any timer runs out, and no ACK had shown them missing, more often than missed ACKs explain",
		Undetermined: "it happened: the ACK that showed them missing may have been missed",
		Source:       "mr0, Sender", Next: "rto_min of the sender, which may be set lower; its loss detection.",
	},
	MetaRoCEAcknowledgedResent - RoCERuleCount: {
		ID: "metaroce.acknowledged-resent", Title: "what was acknowledged is never sent again", Severity: Warning,
		Diverges:     "it was, although the sender had shown by what it sent that it knew; or sooner than any timer runs out and more often than missed ACKs explain",
		Undetermined: "it was: the ACK may have been lost behind the capture",
		Source:       "mr0, Sender", Next: "Loss of ACKs on the way back; rto_min and loss detection of the sender.",
	},
	MetaRoCELostAgainEarly - RoCERuleCount: {
		ID: "metaroce.lost-again-early", Title: "a retransmission is declared lost only by an ACK that echoes a later timestamp, or by the timer", Severity: Warning,
		Diverges:     "packets were sent a third time without either, more often than missed ACKs explain",
		Undetermined: "it happened: the ACK may have been missed",
		Source:       "mr0, Sender", Next: "Loss detection of the sender: it repeats a packet for each ACK that still misses it; rto_min, which may be set lower.",
	},
	MetaRoCEGapNotResent - RoCERuleCount: {
		ID: "metaroce.gap-not-resent", Title: "what a gap shows missing is sent again at once", Severity: Warning,
		Diverges:     "three ACKs had shown it missing and the path went on without it for longer than a few round trips, more often than loss explains",
		Undetermined: "it happened: the retransmission may have been lost before the capture, or been missed",
		Source:       "mr0, Sender", Next: "Loss detection of the sender: it waits for its timer.",
	},
	MetaRoCEMovedWithoutFailure - RoCERuleCount: {
		ID: "metaroce.moved-without-failure", Title: "bytes are sent again on their own path unless it failed", Severity: Error,
		Diverges: "bytes went out on another path while the old one went on with its source port as before",
		Source:   "mr0, Sender", Next: "Loss detection of the sender: an ordered path keeps a hole for ever.",
	},
	MetaRoCEFailedPathKept - RoCERuleCount: {
		ID: "metaroce.failed-path-kept", Title: "after path_failed_after timeouts in a row a path is failed", Severity: Warning,
		Diverges:     "a packet was repeated on it again and again without any answer, and no missed ACK explains it",
		Undetermined: "it was: an ACK may have been missed",
		Source:       "mr0, Sender", Next: "path_failed_after of the sender: the application waits for a broken path.",
	},
	MetaRoCEProbePort - RoCERuleCount: {
		ID: "metaroce.probe-port", Title: "a failed path takes a new source port", Severity: Warning,
		Diverges:     "PROBEs took the places of its packets, from the port that these had left from",
		Undetermined: "it happened once or twice: an earlier PROBE may have been missed",
		Source:       "mr0, Sender", Next: "Path failover of the sender: it asks the broken way whether it is broken.",
	},
	MetaRoCEProbeInterval - RoCERuleCount: {
		ID: "metaroce.probe-interval", Title: "a failed path is probed every rto_max", Severity: Notice,
		Diverges:     "PROBEs for one psn came sooner, without an answer between",
		Undetermined: "it happened once or twice: an answer may have been missed",
		Source:       "mr0, Sender", Next: "rto_max of the sender.",
	},

	MetaRoCEMTU - RoCERuleCount: {
		ID: "metaroce.mtu", Title: "a payload is at most as long as the smaller MTU of both ends", Severity: Error,
		Diverges: "it is longer than CONN_REQ and CONN_REP allow",
		Source:   "mr0, Connecting", Next: "MTU of both ends.",
	},
	MetaRoCEMessageCut - RoCERuleCount: {
		ID: "metaroce.message-cut", Title: "all packets of a message but the last are full", Severity: Error,
		Diverges: "one that is not the last has another length than the MTU, or than others of the sender, or an offset that is no multiple of it",
		Source:   "mr0, Packets", Next: "Firmware of the sender.",
	},
	MetaRoCEMessageLength - RoCERuleCount: {
		ID: "metaroce.message-length", Title: "all packets of a message say the same length", Severity: Error,
		Diverges: "two of them differ",
		Source:   "mr0, Packets", Next: "Firmware of the sender; whether two messages have one msn.",
	},
	MetaRoCEMessageType - RoCERuleCount: {
		ID: "metaroce.message-type", Title: "all packets of a message have one type", Severity: Error,
		Diverges: "two of them differ",
		Source:   "mr0, Packets", Next: "Firmware of the sender; whether two messages have one msn.",
	},
	MetaRoCEPlacement - RoCERuleCount: {
		ID: "metaroce.placement", Title: "a packet of a WRITE goes to the address of its message and its offset, under one key", Severity: Error,
		Diverges: "two packets of a message disagree about where it begins, or have two keys",
		Source:   "mr0, Packets", Next: "Firmware of the sender: bytes are put in the wrong place.",
	},
	MetaRoCEReceiveIndex - RoCERuleCount: {
		ID: "metaroce.receive-index", Title: "all packets of a SEND name one receive buffer", Severity: Error,
		Diverges: "two of them differ",
		Source:   "mr0, Packets", Next: "Firmware of the sender: a message is spread over two buffers.",
	},
	MetaRoCEReceiveIndexReused - RoCERuleCount: {
		ID: "metaroce.receive-index-reused", Title: "a receive buffer takes one message", Severity: Error,
		Diverges: "two messages of a stream name one receive_index",
		Source:   "mr0, Packets", Next: "Firmware of the sender: one message overwrites the other.",
	},
	MetaRoCEBytesTwice - RoCERuleCount: {
		ID: "metaroce.bytes-twice", Title: "bytes are sent once but for retransmissions, which say so", Severity: Warning,
		Diverges: "two packets with different psns bear the same bytes of a message, and neither has RTX set",
		Source:   "mr0, Packets", Next: "Whether the sender answered a READ or did an atomic twice, or moved bytes without RTX.",
	},
	MetaRoCEMSNSkipped - RoCERuleCount: {
		ID: "metaroce.msn-skipped", Title: "msn counts the messages of a stream, none left out", Severity: Error,
		Diverges:     "numbers were left out, more often than lost or missed packets explain",
		Undetermined: "a message was not seen: it may have been lost before the capture, or been missed",
		Source:       "mr0, Packets", Next: "Firmware of the sender: the receiver hands nothing up that is behind the hole.",
	},
	MetaRoCEStreamRange - RoCERuleCount: {
		ID: "metaroce.stream-range", Title: "stream_id is below the stream_count that the receiver announced", Severity: Error,
		Diverges: "a request names a stream beyond it",
		Source:   "mr0, Connecting", Next: "Firmware of the sender: the receiver answers stream_unknown.",
	},
	MetaRoCEReadResponse - RoCERuleCount: {
		ID: "metaroce.read-response", Title: "a READ_RESP answers a READ_REQ with its read_id and length", Severity: Error,
		Diverges: "stream and msn are those of another kind of request, or read_id or length differ from the request's",
		Source:   "mr0, Receiver", Next: "Firmware of the responder: the answer goes to the wrong buffer.",
	},
	MetaRoCEAtomicResponse - RoCERuleCount: {
		ID: "metaroce.atomic-response", Title: "an ATOMIC_RESP answers an ATOMIC_REQ", Severity: Error,
		Diverges: "stream and msn are those of another kind of request",
		Source:   "mr0, Receiver", Next: "Firmware of the responder.",
	},
	MetaRoCEAtomicRepeated - RoCERuleCount: {
		ID: "metaroce.atomic-repeated", Title: "an atomic takes effect once", Severity: Error,
		Diverges: "two answers to one request give different values",
		Source:   "mr0, Receiver", Next: "Firmware of the responder: the operation was done twice.",
	},

	MetaRoCEAckBackwards - RoCERuleCount: {
		ID: "metaroce.ack-backwards", Title: "cumulative_psn never goes back", Severity: Error,
		Diverges: "an ACK with a higher number has a lower one",
		Source:   "mr0, Receiver", Next: "Firmware of the receiver: what was acknowledged may be lost.",
	},
	MetaRoCEAckReneged - RoCERuleCount: {
		ID: "metaroce.ack-reneged", Title: "a SACK bit is never taken back", Severity: Error,
		Diverges: "an ACK with a higher number misses what a lower one has acknowledged",
		Source:   "mr0, Receiver", Next: "Firmware of the receiver: the sender has forgotten what it acknowledged.",
	},
	MetaRoCEAckUnsent - RoCERuleCount: {
		ID: "metaroce.ack-unsent", Title: "an ACK covers what was sent", Severity: Error,
		Diverges:     "packets were sent for the first time only after an ACK had covered them, more often than missed ones explain",
		Undetermined: "it happened: the capture may have missed them and seen copies",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver: bytes that never arrived count as done.",
	},
	MetaRoCEAckNumber - RoCERuleCount: {
		ID: "metaroce.ack-number", Title: "the numbers of a path's ACKs rise by 1", Severity: Warning,
		Diverges:     "two different ACKs have one number, or each number is by the same step above the one before, which loss does not do",
		Undetermined: "steps of the same size follow each other: ACKs may have been lost or missed",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver: the sender cannot tell late ACKs.",
	},
	MetaRoCEPacketCount - RoCERuleCount: {
		ID: "metaroce.packet-count", Title: "packet_count counts the packets that arrived", Severity: Warning,
		Diverges: "it fell, or grew by less than what was newly acknowledged",
		Source:   "mr0, Receiver", Next: "Firmware of the receiver.",
	},
	MetaRoCECECount - RoCERuleCount: {
		ID: "metaroce.ce-count", Title: "ce_count counts the packets that arrived marked CE", Severity: Warning,
		Diverges:     "it fell, grew by more than packet_count, or by less than the marked packets that were seen and acknowledged, more often than missed packets explain",
		Undetermined: "it grew by less than the marks seen: unmarked retransmissions may have been missed",
		Source:       "mr0, Receiver", Next: "ECN counters of the receiver: its peer does not slow down.",
	},
	MetaRoCEEchoUnsent - RoCERuleCount: {
		ID: "metaroce.echo-unsent", Title: "an ACK echoes the timestamp of a packet of its path", Severity: Warning,
		Diverges:     "no packet bore it, more often than missed ones explain",
		Undetermined: "no packet that was seen bore it: the capture may have missed it",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver: the sender measures wrong round-trip times.",
	},
	MetaRoCEAckTrigger - RoCERuleCount: {
		ID: "metaroce.ack-trigger", Title: "the trigger of an ACK is what happened", Severity: Notice,
		Diverges:     "it tells of a gap where there is none, of a duplicate or of a change of marks that the counts exclude, or of a request that no packet made, again and again",
		Undetermined: "it happened seldom: a retransmission may have changed the picture, or been missed",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver.",
	},
	MetaRoCEAckEvery - RoCERuleCount: {
		ID: "metaroce.ack-every", Title: "an ACK is sent every ack_every packets", Severity: Warning,
		Diverges:     "four times as many were newly acknowledged by one ACK, again and again, and none between was missed",
		Undetermined: "it happened seldom",
		Source:       "mr0, Receiver", Next: "ack_every of the receiver; how many packets it takes at once.",
	},
	MetaRoCEAckDelay - RoCERuleCount: {
		ID: "metaroce.ack-delay", Title: "an ACK waits for no longer than ack_timer", Severity: Warning,
		Diverges:     "by their own ack_delay ACKs waited four times as long, again and again",
		Undetermined: "it happened seldom",
		Source:       "mr0, Receiver", Next: "ack_timer and load of the receiver.",
	},
	MetaRoCEAckRequested - RoCERuleCount: {
		ID: "metaroce.ack-requested", Title: "a packet with AR is acknowledged at once", Severity: Warning,
		Diverges:     "packets that asked for an ACK were acknowledged by a timer's or a later one, more often than missed packets explain",
		Undetermined: "it happened: the copy that arrived may have been missed",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver.",
	},
	MetaRoCEAckGap - RoCERuleCount: {
		ID: "metaroce.ack-gap", Title: "a new gap is acknowledged at once", Severity: Warning,
		Diverges:     "an ACK that waited shows a gap that the one before, by its number, had not, again and again",
		Undetermined: "it happened once or twice",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver: losses are repaired late.",
	},
	MetaRoCEAckDuplicate - RoCERuleCount: {
		ID: "metaroce.ack-duplicate", Title: "a duplicate is acknowledged at once", Severity: Notice,
		Diverges:     "by packet_count duplicates arrived, and only a waiting ACK told of them, more often than missed NAKs explain",
		Undetermined: "it happened: packets may have been refused by a NAK that was missed",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver.",
	},
	MetaRoCEAckCEChange - RoCERuleCount: {
		ID: "metaroce.ack-ce-change", Title: "a change of CE marking is acknowledged at once", Severity: Warning,
		Diverges:     "by ce_count marked and unmarked packets arrived, and only a waiting ACK told of them, again and again",
		Undetermined: "it happened seldom",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver: its peer slows down late.",
	},
	MetaRoCEAckMessageEnd - RoCERuleCount: {
		ID: "metaroce.ack-message-end", Title: "the end of a message is acknowledged at once", Severity: Warning,
		Diverges:     "last packets were acknowledged by a timer's or a later ACK, more often than missed packets explain",
		Undetermined: "it happened: the copy that arrived may have been missed",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver: each message takes longer by its timer.",
	},

	MetaRoCEHintRange - RoCERuleCount: {
		ID: "metaroce.hint-range", Title: "rate_hint is a share of link_rate × hint_target", Severity: Warning,
		Diverges: "an ACK grants more than that, or no limit although the receiver has announced its rate",
		Source:   "mr0, Receiver", Next: "link_rate and hint_target of the receiver: its link can be overrun.",
	},
	MetaRoCEHintExceeded - RoCERuleCount: {
		ID: "metaroce.hint-exceeded", Title: "a sender keeps to rate_hint within hint_reaction round trips", Severity: Warning,
		Diverges:     "by its own timestamps it sent faster over many round trips, again and again",
		Undetermined: "it happened seldom: a higher hint may have been missed",
		Source:       "mr0, Sender", Next: "Congestion control of the sender: others at the receiver get less than their share.",
	},
	MetaRoCEHintAnnounced - RoCERuleCount: {
		ID: "metaroce.hint-announced", Title: "a hint is announced on its own only when it has changed by more than hint_tolerance", Severity: Notice,
		Diverges:     "ACKs with trigger 7 told what all before them had told, more often than missed ones explain",
		Undetermined: "it happened: the ACK between may have been missed",
		Source:       "mr0, Receiver", Next: "Firmware of the receiver: it loads the way back.",
	},
	MetaRoCECEIgnored - RoCERuleCount: {
		ID: "metaroce.ce-ignored", Title: "ce_count that grows cuts the window of the path", Severity: Warning,
		Diverges:     "round after round it grew, and more packets were in flight than the cuts allow",
		Undetermined: "it happened seldom: the ACKs may have been lost behind the capture",
		Source:       "mr0, Sender", Next: "Congestion control of the sender.",
	},

	MetaRoCENAKReason - RoCERuleCount: {
		ID: "metaroce.nak-reason", Title: "the reason of a NAK fits the packet that it refuses", Severity: Warning,
		Diverges: "receiver_not_ready for what is no SEND, remote_access_error for what names no address, remote_operation_error for what has no operation, or stream_unknown for an answer or a stream that was announced and used",
		Source:   "mr0, Receiver", Next: "Firmware of the receiver.",
	},
	MetaRoCENAKMatch - RoCERuleCount: {
		ID: "metaroce.nak-match", Title: "stream and msn of a NAK are those of the packet that it refuses", Severity: Error,
		Diverges: "the psn bore another message",
		Source:   "mr0, Receiver", Next: "Firmware of the receiver: the sender drops the NAK.",
	},
	MetaRoCERetryEarly - RoCERuleCount: {
		ID: "metaroce.retry-early", Title: "after receiver_not_ready the sender waits retry_after", Severity: Warning,
		Diverges:     "refused packets came again earlier, more often than lost NAKs explain",
		Undetermined: "it happened: the NAK may have been lost behind the capture",
		Source:       "mr0, Receiver", Next: "Firmware of the sender; retry_after of the receiver.",
	},
	MetaRoCEAfterFatalNAK - RoCERuleCount: {
		ID: "metaroce.after-fatal-nak", Title: "remote_access_error, invalid_request and remote_operation_error end the connection", Severity: Error,
		Diverges:     "the sender went on with new packets after many such NAKs",
		Undetermined: "it went on after some: they may have been lost behind the capture",
		Source:       "mr0, Receiver", Next: "State of the connection at the sender.",
	},
}
