// Package roce is the reference endpoint of RoCEv2's reliable connection: requester and responder as the IBTA's
// volume 1, chapter 9 has them, with the congestion notification of annex A17 and the connection manager's messages of
// chapter 12.
//
// It does no I/O. Ethernet frames and the time go in, frames and deadlines come out; there is no socket, no clock, no
// goroutine, no lock and no randomness. One goroutine owns an [Endpoint]:
//
//	for {
//		for {
//			d, ok := endpoint.Poll(now(), buffer[:0])
//			if !ok {
//				break
//			}
//			send(d.Frame)
//		}
//		for endpoint.NextEvent(&event) {
//			// connected, rejected, disconnected, failed
//		}
//		for endpoint.NextCompletion(&completion) {
//			// own work requests and received messages, in the order of each queue pair
//		}
//		d, ok := receive(endpoint.NextTimeout()) // a frame, or the deadline
//		if ok {
//			endpoint.Handle(now(), &d)
//		}
//	}
//
// Times are durations since an epoch of the caller's choice, the same for all calls, and never go backwards.
//
// An endpoint has queue pairs ([Endpoint.Open] when both ends know all of each other, [Endpoint.Connect] through the
// connection manager). Each is requester of its own work requests and responder to the peer's.
package roce
