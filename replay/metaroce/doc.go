// Package metaroce is the reference endpoint of MetaRoCE, profile mr0: sender and receiver exactly as the profile's
// rules say (dissector/metaroce/profile/metaroce-mr0.md; docs/metaroce-rules.md names the test that proves each).
//
// It does no I/O. Datagrams and the time go in, datagrams and deadlines come out; there is no socket, no clock, no
// goroutine, no lock and no randomness but the source that it is given. The same code is the live peer over UDP
// sockets, the oracle in replay and the judge of other implementations. One goroutine owns an [Endpoint]:
//
//	for {
//		for {
//			d, ok := endpoint.Poll(now(), buffer[:0])
//			if !ok {
//				break
//			}
//			send(d) // from the socket bound to d.Source
//		}
//		for endpoint.NextEvent(&event) {
//			// connected, rejected, disconnected, a path failed ...
//		}
//		for endpoint.NextCompletion(&completion) {
//			// own work requests and the peer's messages, in the order of each stream
//		}
//		d, ok := receive(endpoint.NextTimeout()) // a datagram, or the deadline
//		if ok {
//			endpoint.Handle(now(), &d)
//		}
//	}
//
// Times are durations since an epoch of the caller's choice, the same for all calls, and never go backwards.
//
// An endpoint has connections ([Endpoint.Connect], or accepted from peers), a connection has many paths below and
// many ordered streams above. Work is posted to a [Stream]; paths are the transport's own business and can be looked
// at with [Connection.Path].
package metaroce
