// Package mad decodes management datagrams: the header that all share, and the messages by which the
// communication manager sets connections up and takes them down (IBTA volume 1, chapters 12 and 13; RDMA IP
// CM service: annex A11). They travel as unreliable datagrams to QP 0 and, the communication manager's, QP 1.
//
// [Header.Decode] reads the start of such a datagram's payload, [Header.Message] says which message follows,
// and the decoder of that type reads it from the bytes behind the header:
//
//	var h mad.Header
//	n, err := h.Decode(payload)
//	if err == nil && h.Message() == mad.MessageREQ {
//		var m mad.REQ
//		_, err = m.Decode(payload[n:])
//	}
//
// A decoder overwrites all of its output. When the bytes end before the message's private data it leaves a
// zero message and answers [infiniband.ErrTruncated]; of cut private data it keeps what there is. Nothing
// here allocates; private data alias the bytes given. All multi-byte fields are big-endian. Fields named
// Reserved and a number stand at that offset; they are kept so that encoding gives equal bytes.
package mad
