package roce

// Statistics are counts of a queue pair since it was opened.
type Statistics struct {
	Requests, Responses uint64 // packets sent, ACKs and NAKs among the responses
	Retransmitted       uint64 // request packets sent again, READ requests for the rest of an answer included
	Timeouts            uint64 // of the retransmission timer
	ImpliedNAKs         uint64 // gaps in READ responses and ACKs that went past a READ or atomic
	SequenceNAKs        uint64 // sent
	RNRNAKs             uint64 // sent
	RNRWaits            uint64 // RNR NAKs that were obeyed
	CNPsSent            uint64
	CNPsReceived        uint64
	Duplicates          uint64 // requests that came again
	Reordered           uint64 // requests kept behind a gap
}

// Statistics are the QP's counts.
func (q *QP) Statistics() Statistics { return q.statistics }

// Outstanding is the number of work requests that are not complete.
func (q *QP) Outstanding() int { return q.messages.len() }
