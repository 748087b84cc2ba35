package finding

// Rules of RoCE: reliable connections of RoCEv1 and RoCEv2, in the order of the catalogue.
const (
	// What one packet says of itself.
	RoCETransportVersion Rule = iota
	RoCEReservedBits
	RoCEICRC
	RoCEPadCount
	RoCESolicitedEvent
	RoCEAtomicAlignment
	RoCEMessageTooLong
	RoCEPartitionKey
	RoCESourcePort
	RoCEVersionMix

	// What a requester sends.
	RoCEOpcodeSequence
	RoCEPathMTU
	RoCELastLength
	RoCEOnlyLength
	RoCERETHLength
	RoCEReadSpan
	RoCEReadDepth
	RoCEStartingPSN
	RoCERetransmissionDiffers
	RoCEGoBackStart
	RoCENAKIgnored
	RoCEAcknowledgedResent
	RoCERNREarly
	RoCERNRRetries
	RoCERetries
	RoCETimeoutEarly
	RoCETimeoutLate
	RoCEAfterFatalNAK
	RoCECNPIgnored

	// What a responder answers.
	RoCESyndrome
	RoCEAckUnsent
	RoCEAckBackwards
	RoCEMessageCount
	RoCENAKRepeated
	RoCENAKMissing
	RoCENAKOfAcknowledged
	RoCEAckOverGap
	RoCEAnswerAfterFatalNAK
	RoCERNRNotForSend
	RoCEDuplicateUnanswered
	RoCEAckRequestUnanswered
	RoCEReadResponseSequence
	RoCEReadResponseLength
	RoCEReadResponsePSN
	RoCEAtomicResponse
	RoCEAtomicRepeated
	RoCECNPMissing
	RoCECNPUnfounded
	RoCECNPFormat

	RoCERuleCount = iota
)

var roceRules = [RoCERuleCount]Description{
	RoCETransportVersion: {
		ID: "roce.transport-version", Title: "the transport version is 0", Severity: Error,
		Diverges: "a packet with the right ICRC has another version",
		Source:   "IBTA vol. 1, 9.2.4", Next: "Firmware of the sender; a packet that is no RoCE at all.",
	},
	RoCEReservedBits: {
		ID: "roce.reserved-bits", Title: "reserved bits of the BTH are sent as zero", Severity: Notice,
		Diverges: "a reserved bit is set in a packet of a known opcode",
		Source:   "IBTA vol. 1, 9.2", Next: "Whether the sender uses a vendor's extension; a peer must ignore them.",
	},
	RoCEICRC: {
		ID: "roce.icrc", Title: "the ICRC is right", Severity: Error,
		Diverges:     "it is wrong in every packet of the sender, eight or more, while its peer's are right and answer none of them",
		Undetermined: "it is wrong in some, or they were answered: damage on the way, a device that rewrote a field that it covers, or the capture itself",
		Source:       "IBTA vol. 1, 7.8.1 and annex A17", Next: "NAT or a tunnel that rewrites addresses or ports; otherwise cables and the error counters of the links.",
	},
	RoCEPadCount: {
		ID: "roce.pad-count", Title: "payload and pad fill whole words, with 0 to 3 bytes of pad", Severity: Error,
		Diverges: "the two lengths of a packet together are no multiple of 4, or a FIRST or MIDDLE packet has a pad",
		Source:   "IBTA vol. 1, 9.2.3", Next: "Firmware of the sender.",
	},
	RoCESolicitedEvent: {
		ID: "roce.solicited-event", Title: "only the last packet of a SEND or of a WRITE with immediate solicits an event", Severity: Notice,
		Diverges: "another packet has the bit set",
		Source:   "IBTA vol. 1, 9.2.2", Next: "Firmware of the sender; a peer must ignore it.",
	},
	RoCEAtomicAlignment: {
		ID: "roce.atomic-alignment", Title: "an atomic operation names an address that is a multiple of 8", Severity: Error,
		Diverges: "its address is none",
		Source:   "IBTA vol. 1, 9.4.5", Next: "The application that posted the work request.",
	},
	RoCEMessageTooLong: {
		ID: "roce.message-length", Title: "a message is at most 2³¹ bytes long", Severity: Error,
		Diverges: "a RETH asks for more",
		Source:   "IBTA vol. 1, 9.4.3 and 9.4.4", Next: "The application that posted the work request.",
	},
	RoCEPartitionKey: {
		ID: "roce.partition-key", Title: "a QP keeps its partition key", Severity: Warning,
		Diverges: "the key changes within the connection, CNPs aside",
		Source:   "IBTA vol. 1, 9.6.1.1.3", Next: "Whether the QPN was given to another connection; the P_Key table of the port.",
	},
	RoCESourcePort: {
		ID: "roce.source-port", Title: "a connection keeps its UDP source port", Severity: Notice,
		Diverges: "data leaves from a second port: switches that hash it may take another path and reorder",
		Source:   "IBTA vol. 1, annex A17.9.2", Next: "Whether the sender sprays or fails over on purpose, and whether its peer bears reordering.",
	},
	RoCEVersionMix: {
		ID: "roce.version-mix", Title: "both ends of a connection speak the same version of RoCE", Severity: Error,
		Diverges: "one end sends RoCEv1, the other RoCEv2",
		Source:   "IBTA vol. 1, annexes A16 and A17", Next: "The GID index that each end chose: its type must be RoCE v2 on both (show_gids).",
	},

	RoCEOpcodeSequence: {
		ID: "roce.opcode-sequence", Title: "FIRST, MIDDLE, LAST and ONLY follow one another within one operation", Severity: Error,
		Diverges: "two packets with neighbouring PSNs cannot stand side by side, such as MIDDLE behind LAST",
		Source:   "IBTA vol. 1, 9.6.1.1.4 and table 49", Next: "Firmware of the requester; whether the QPN was given to another connection.",
	},
	RoCEPathMTU: {
		ID: "roce.path-mtu", Title: "every packet but the last of a message is as long as the path MTU", Severity: Error,
		Diverges: "a FIRST or MIDDLE packet has a length that is no MTU, other than those before it, or other than the connection manager agreed upon",
		Source:   "IBTA vol. 1, 9.4 and 9.6.1.1.6", Next: "MTU of QP and ports at both ends.",
	},
	RoCELastLength: {
		ID: "roce.last-length", Title: "the last packet of a message holds 1 byte up to the path MTU", Severity: Error,
		Diverges: "a LAST packet is empty, or longer than FIRST and MIDDLE packets",
		Source:   "IBTA vol. 1, 9.6.1.1.6", Next: "Firmware of the sender.",
	},
	RoCEOnlyLength: {
		ID: "roce.only-length", Title: "a message of one packet fits the path MTU", Severity: Error,
		Diverges: "an ONLY packet is longer than FIRST and MIDDLE packets, or than the MTU that the connection manager agreed upon",
		Source:   "IBTA vol. 1, 9.6.1.1.6", Next: "MTU of QP and ports at both ends.",
	},
	RoCERETHLength: {
		ID: "roce.reth-length", Title: "the packets of a WRITE hold as many bytes as its RETH says", Severity: Error,
		Diverges: "all packets of a WRITE were seen, and their payload is longer or shorter",
		Source:   "IBTA vol. 1, 9.4.3 and 9.6.1.1.6", Next: "Firmware of the requester: memory beyond the message, or the end of it, is at risk.",
	},
	RoCEReadSpan: {
		ID: "roce.read-span", Title: "a READ request takes one PSN for each packet of its answer", Severity: Error,
		Diverges: "the next request, not a READ sent again, has a PSN that belongs to the answer",
		Source:   "IBTA vol. 1, 9.7.2 and 9.7.3.1", Next: "Path MTU at both ends: it decides how many packets the answer has.",
	},
	RoCEReadDepth: {
		ID: "roce.read-depth", Title: "no more READs and atomics are under way than the responder accepts", Severity: Error,
		Diverges: "more were sent, and answers to all of them were seen only later, than the connection manager agreed upon",
		Source:   "IBTA vol. 1, 9.4.4 and 12.7.30", Next: "max_rd_atomic of the requester against max_dest_rd_atomic of its peer.",
	},
	RoCEStartingPSN: {
		ID: "roce.starting-psn", Title: "the first request has the PSN that the connection manager announced", Severity: Error,
		Diverges:     "a request stands before it",
		Undetermined: "the first request that was seen stands behind it: those between may have been missed",
		Source:       "IBTA vol. 1, 12.7.31 and 12.9", Next: "Whether sq_psn and rq_psn were set from the messages of the connection manager.",
	},
	RoCERetransmissionDiffers: {
		ID: "roce.retransmission-differs", Title: "what is sent again is what was sent before", Severity: Error,
		Diverges: "two packets with one PSN differ in opcode or length, READ requests aside",
		Source:   "IBTA vol. 1, 9.7.3.3", Next: "Firmware of the requester; whether the QPN was given to another connection.",
	},
	RoCEGoBackStart: {
		ID: "roce.go-back-start", Title: "after a NAK the requester goes on with the PSN that the NAK names", Severity: Warning,
		Diverges:     "it began before it so often that neither lost answers nor missed packets explain it",
		Undetermined: "it began before it: its timer may have run out at the same time",
		Source:       "IBTA vol. 1, 9.7.6.1.2", Next: "Firmware of the requester: packets that had arrived are sent again.",
	},
	RoCENAKIgnored: {
		ID: "roce.nak-ignored", Title: "a requester sends again what a NAK asks for", Severity: Error,
		Diverges:     "it sent on, or began behind the PSN, so often that lost NAKs and missed packets do not explain it",
		Undetermined: "the packet that was asked for was not seen again: NAK or packet may have been lost or missed",
		Source:       "IBTA vol. 1, 9.7.6.1.2", Next: "Loss of NAKs on the way back (priority, ACLs); firmware of the requester.",
	},
	RoCEAcknowledgedResent: {
		ID: "roce.acknowledged-resent", Title: "what was acknowledged is not sent again", Severity: Warning,
		Diverges:     "it was, each time after the requester had shown that it knew, or more often than lost ACKs explain",
		Undetermined: "it was: the ACK may have been lost behind the capture",
		Source:       "IBTA vol. 1, 9.7.6", Next: "Loss of ACKs; a retransmission timer below the round-trip time.",
	},
	RoCERNREarly: {
		ID: "roce.rnr-early", Title: "after an RNR NAK the requester waits for as long as the timer says", Severity: Error,
		Diverges:     "the packet came again earlier, and was not yet under way when the RNR NAK passed",
		Undetermined: "it came again earlier, but so soon that it may have been under way",
		Source:       "IBTA vol. 1, 9.7.5.2.8", Next: "Firmware of the requester; a timer that is too short (min_rnr_timer) makes a storm of it.",
	},
	RoCERNRRetries: {
		ID: "roce.rnr-retries", Title: "a requester gives up after the RNR retries that were agreed upon", Severity: Warning,
		Diverges: "it repeated, and was refused again, more often than the connection manager's REQ or REP allows",
		Source:   "IBTA vol. 1, 9.7.5.2.8 and 12.7.29", Next: "rnr_retry of the QP: 7 means for ever.",
	},
	RoCERetries: {
		ID: "roce.retries", Title: "a requester gives up after the retries that were agreed upon", Severity: Warning,
		Diverges:     "one packet was repeated, without any answer between, more often than the connection manager's REQ allows",
		Undetermined: "so was one that an RNR NAK may have answered, which the capture missed",
		Source:       "IBTA vol. 1, 9.7.6.1.3 and 12.7.38", Next: "retry_cnt of the QP, and adaptive retransmission of the NIC.",
	},
	RoCETimeoutEarly: {
		ID: "roce.timeout-early", Title: "a requester waits for the local ACK timeout before it repeats without a NAK", Severity: Warning,
		Diverges:     "it repeated earlier so often that missed NAKs do not explain it",
		Undetermined: "it repeated earlier: a NAK may have been missed",
		Source:       "IBTA vol. 1, 9.7.6.1.3", Next: "Adaptive retransmission of the NIC (RoCE accelerations); timeout of the QP.",
	},
	RoCETimeoutLate: {
		ID: "roce.timeout-late", Title: "a requester repeats within four times the local ACK timeout", Severity: Warning,
		Diverges:     "it waited longer each time, and missed repetitions do not explain it",
		Undetermined: "it waited longer: an earlier repetition may have been missed",
		Source:       "IBTA vol. 1, 9.7.6.1.3; Lumina (SIGCOMM 2023) measured it in NICs", Next: "The lower bound that the NIC sets on its timer.",
	},
	RoCEAfterFatalNAK: {
		ID: "roce.after-fatal-nak", Title: "a requester stops after a NAK that ends the connection", Severity: Error,
		Diverges:     "new requests went on for long after it, and the responder answered that it had stopped",
		Undetermined: "new requests went on: the NAK may have been lost behind the capture",
		Source:       "IBTA vol. 1, 9.9.2.4 and 10.3.1", Next: "State of the QP at both ends.",
	},
	RoCECNPIgnored: {
		ID: "roce.cnp-ignored", Title: "a requester sends slower after a CNP", Severity: Warning,
		Diverges:     "after 64 CNPs, at most 160 µs apart and 100 µs on average, it sent within 10 % of what it had sent before them, with something to send all the time, at 2 Gbit/s or more and as fast as ever",
		Undetermined: "the same, but there were pauses between messages, or messages of one packet: the application, not the network, may have set the rate. What one CNP does is too little to be told",
		Source:       "IBTA vol. 1, annex A17.9.3; DCQCN (Zhu et al., SIGCOMM 2015)", Next: "Whether the reaction point is enabled for the priority, and where CNPs are queued.",
	},

	RoCESyndrome: {
		ID: "roce.syndrome", Title: "an AETH has a syndrome that is defined", Severity: Error,
		Diverges: "its type or NAK code is reserved",
		Source:   "IBTA vol. 1, 9.7.5.2", Next: "Firmware of the responder.",
	},
	RoCEAckUnsent: {
		ID: "roce.ack-unsent", Title: "an ACK covers what was received", Severity: Error,
		Diverges:     "it covered packets that were sent for the first time only after it, more than missed ones can explain",
		Undetermined: "it covered packets that were not seen before it: the capture may have missed them",
		Source:       "IBTA vol. 1, 9.7.5.1.1", Next: "Firmware of the responder: data are lost when it acknowledges what it has not got.",
	},
	RoCEAckBackwards: {
		ID: "roce.ack-backwards", Title: "acknowledged PSNs do not go back", Severity: Warning,
		Diverges:     "an answer made later, by its message count, acknowledges less than an earlier one",
		Undetermined: "an answer acknowledges less than one seen before it: the network or the capture may have changed their order",
		Source:       "IBTA vol. 1, 9.7.5.1.1", Next: "Firmware of the responder.",
	},
	RoCEMessageCount: {
		ID: "roce.message-count", Title: "the MSN grows by one for each message that is done", Severity: Error,
		Diverges: "between two answers it grew by more or less than the messages between their PSNs, seen or possibly missed",
		Source:   "IBTA vol. 1, 9.7.7.1", Next: "Firmware of the responder; the requester completes by this number.",
	},
	RoCENAKRepeated: {
		ID: "roce.nak-repeated", Title: "a gap is answered by one NAK", Severity: Warning,
		Diverges:     "several NAKs name one PSN, which was not sent between them, more than copies and missed packets explain",
		Undetermined: "a NAK came twice: the network may have doubled it, or the packet between them was missed",
		Source:       "IBTA vol. 1, 9.7.5.2.3; Lumina (SIGCOMM 2023) saw a NAK for each packet of a gap", Next: "Firmware of the responder: each NAK makes a requester go back again.",
	},
	RoCENAKMissing: {
		ID: "roce.nak-missing", Title: "a gap is answered by a NAK", Severity: Warning,
		Diverges:     "gaps were repaired by the timer so often that lost or missed NAKs do not explain it",
		Undetermined: "a gap was repaired without a NAK: it may have been lost or missed. Gaps that arise behind the vantage point cannot be told from lost answers",
		Source:       "IBTA vol. 1, 9.7.5.2.3", Next: "Whether NAKs are dropped on the way back; out-of-order handling of the responder.",
	},
	RoCENAKOfAcknowledged: {
		ID: "roce.nak-of-acknowledged", Title: "a NAK asks for what was not acknowledged", Severity: Error,
		Diverges:     "a NAK made later, by its message count, asks for a PSN that was acknowledged before; or it happened more often than reordering explains",
		Undetermined: "a NAK asks for a PSN that was acknowledged before: the two may have changed their order",
		Source:       "IBTA vol. 1, 9.7.5.2.3", Next: "Firmware of the responder.",
	},
	RoCEAckOverGap: {
		ID: "roce.ack-over-gap", Title: "after a NAK nothing is acknowledged beyond the gap before the gap is filled", Severity: Error,
		Diverges:     "it was, without the missing packet being sent again, more often than missed packets explain",
		Undetermined: "it was: the retransmission may have been missed by the capture",
		Source:       "IBTA vol. 1, 9.7.5.1.1 and 9.7.5.2.3", Next: "Firmware of the responder: data are lost when it acknowledges what it has not got.",
	},
	RoCEAnswerAfterFatalNAK: {
		ID: "roce.answer-after-fatal-nak", Title: "a responder that refused a request acknowledges nothing behind it", Severity: Error,
		Diverges: "after a NAK for an invalid request, a remote access error or a remote operational error it acknowledged that PSN or a later one",
		Source:   "IBTA vol. 1, 9.9.3", Next: "State of the QP at the responder.",
	},
	RoCERNRNotForSend: {
		ID: "roce.rnr-not-for-send", Title: "an RNR NAK answers a request that needs a receive buffer or a resource", Severity: Warning,
		Diverges: "it names the PSN of a WRITE without immediate",
		Source:   "IBTA vol. 1, 9.7.5.2.8", Next: "Firmware of the responder.",
	},
	RoCEDuplicateUnanswered: {
		ID: "roce.duplicate-unanswered", Title: "a request that comes again is answered again", Severity: Warning,
		Diverges:     "requests that had been acknowledged were repeated, and nothing came back, more often than loss explains",
		Undetermined: "a repeated request was not answered: it or its answer may have been lost or missed",
		Source:       "IBTA vol. 1, 9.7.5.1.2 and table 52", Next: "State of the QP at the responder.",
	},
	RoCEAckRequestUnanswered: {
		ID: "roce.ack-request-unanswered", Title: "a request for an ACK is answered", Severity: Error,
		Diverges:     "requests passed unanswered, more often than loss explains, while the responder answered others",
		Undetermined: "the responder was not heard at all, or it happened seldom: its path, its host or the capture may be the reason",
		Source:       "IBTA vol. 1, 9.2.6 and 9.7.5.1", Next: "Last sign of life of the responder; routes and GIDs of the way back; the QP's state.",
	},
	RoCEReadResponseSequence: {
		ID: "roce.read-response-sequence", Title: "an answer to a READ begins with FIRST and ends with LAST, or is one ONLY", Severity: Error,
		Diverges:     "a packet of the answer has an opcode that does not fit its place",
		Undetermined: "an answer begins in the middle: the READ may have been asked for again from there, and the capture missed that",
		Source:       "IBTA vol. 1, 9.4.4 and 9.7.5.1.4", Next: "Firmware of the responder; path MTU at both ends.",
	},
	RoCEReadResponseLength: {
		ID: "roce.read-response-length", Title: "the answer to a READ holds the bytes that were asked for", Severity: Error,
		Diverges: "a packet of it is longer or shorter than its place says",
		Source:   "IBTA vol. 1, 9.4.4 and 9.7.6.1", Next: "Firmware of the responder; path MTU at both ends.",
	},
	RoCEReadResponsePSN: {
		ID: "roce.read-response-psn", Title: "an answer to a READ has PSNs of that READ", Severity: Error,
		Diverges: "its PSN belongs to a request that was no READ",
		Source:   "IBTA vol. 1, 9.7.5.1.4", Next: "Firmware of the responder.",
	},
	RoCEAtomicResponse: {
		ID: "roce.atomic-response", Title: "an ATOMIC ACK answers an atomic request", Severity: Error,
		Diverges: "its PSN belongs to another kind of request",
		Source:   "IBTA vol. 1, 9.4.5 and 9.7.5.1.5", Next: "Firmware of the responder.",
	},
	RoCEAtomicRepeated: {
		ID: "roce.atomic-repeated", Title: "an atomic operation that comes again is answered from memory, not done again", Severity: Error,
		Diverges: "two answers with one PSN give different values",
		Source:   "IBTA vol. 1, 9.4.5 and 9.7.5.1.5", Next: "Firmware of the responder: the operation took effect twice.",
	},
	RoCECNPMissing: {
		ID: "roce.cnp-missing", Title: "packets marked CE are answered by CNPs", Severity: Warning,
		Diverges:     "marks went unanswered, more often than lost or missed CNPs explain",
		Undetermined: "the capture has no packet of the way back, or marks went unanswered seldom. Marks that are set behind the vantage point are not seen at all",
		Source:       "IBTA vol. 1, annex A17.9.3", Next: "Whether the notification point is enabled for the priority (np enable), and its counters np_ecn_marked_roce_packets, np_cnp_sent.",
	},
	RoCECNPUnfounded: {
		ID: "roce.cnp-unfounded", Title: "a CNP answers a packet marked CE", Severity: Warning,
		Diverges:     "CNPs came although what was sent is not ECN-capable, which no switch can mark",
		Undetermined: "CNPs came although no mark was seen: packets may be marked behind the capture",
		Source:       "IBTA vol. 1, annex A17.9.3; RFC 3168", Next: "Firmware of the responder; traffic of the same QP that the capture did not see.",
	},
	RoCECNPFormat: {
		ID: "roce.cnp-format", Title: "a CNP has BECN set and 16 bytes of zeros", Severity: Warning,
		Diverges: "its BECN is not set, or its payload is not zero",
		Source:   "IBTA vol. 1, annex A17.9.3", Next: "Firmware of the responder.",
	},
}
