// Package metaroce holds what the codecs of all MetaRoCE wire profiles share. The codec of a profile is a package
// of its own below this one, generated from the profile's description in profile/: package mr0 is "MetaRoCE,
// profile mr0". A second profile is a second description and a second generated package.
//
// An endpoint decodes a datagram, checks it, and sends another:
//
//	var in, out mr0.Packet // reused for ever: neither direction allocates
//
//	err := mr0.Decode(datagram, &in)
//	switch {
//	case !mr0.VerifyICRC(datagram, from, to): // corrupted, or not MetaRoCE when in.Fault.Reason.InDoubt()
//	case err != nil:                          // malformed: mr0.Profile.Explain(in.Fault) says why
//	case in.CH.Type == mr0.TypeWrite:
//		place(in.WETH.VirtualAddress, in.Payload(datagram))
//	}
//
//	out = mr0.Packet{
//		CH:   mr0.CH{Type: mr0.TypeACK, DestConnID: peer, PathID: in.CH.PathID, PSN: ackNumber},
//		ACKH: mr0.ACKH{CumulativePSN: next, EchoTimestamp: in.DH.Timestamp, Trigger: mr0.ACKTriggerRequested},
//	}
//	out.ACKH.SACK.Set(int(mr0.PSNDistance(next+1, in.CH.PSN)))
//	buffer, err = out.AppendDatagram(buffer[:0], nil, from, to)
//
// Defaults of the reference transport are in [mr0.DefaultParameters], limits of fields in the description.
package metaroce

//go:generate go run ./profile/generate
