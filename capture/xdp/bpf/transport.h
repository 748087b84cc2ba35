/* Reads the transport headers of RoCE (IBTA volume 1, chapter 9) and of MetaRoCE (profile mr0). */
#ifndef ROCELENS_TRANSPORT_H
#define ROCELENS_TRANSPORT_H

#include "account.h"

/* Whether the fields that a sender of RoCEv2 has no choice in look like its own; package dissector says why. */
inline_always u8 plausible(void *b, u16 port)
{
	u16 key = be16(U16(b, 2)) & 0x7fff;

	if (U8(b, 8) & 0x7f)
		return 0;
	if (key == 0x7fff)
		return 1;
	port = be16(port);
	return key && (port == 0 || port >= 1024);
}

inline_always u8 roce(const struct frame *f, const struct packet *p, struct transport *t)
{
	u32 at = p->at, end = p->end, need, rest, length;
	u8 v2 = p->protocol == ROCE_V2, opcode, service, side;
	const struct opcode *o;
	u8 *b;

	length = end > at ? end - at : 0;
	if (unlikely(length < 16))
		return v2 ? NOT_RDMA : MALFORMED;
	b = bytes_at(f, at, 12);
	if (unlikely(!b))
		return TRUNCATED;
	opcode = b[0];
	o = &opcodes[opcode];
	need = o->length;
	t->what = o->what;
	rest = need + (b[1] >> 4 & 3) + 4;
	if (v2) {
		if (unlikely(b[1] & 15 || !need || length < rest || !plausible(b, p->port)))
			return DOUBTFUL;
	} else {
		if (b[1] & 15 || !need)
			return UNSUPPORTED;
		if (length < rest)
			return MALFORMED;
	}
	if (unlikely(end > 65535))
		return UNSUPPORTED;
	service = opcode >> 5;
	side = t->what & ANSWER ? SIDE_ANSWERS : SIDE_REQUESTS;
	t->payload = length - rest;
	t->psn = be32(U32(b, 8)) & 0xffffff;
	t->who = who(be32(U32(b, 4)) & 0xffffff, 0, service, p->protocol, side);
	t->shift = 8;
	if (unlikely(!bytes_at(f, at + need - 1, 1)))
		return TRUNCATED;
	if (unlikely(service == SERVICE_UD)) {
		b = bytes_at(f, at, 20);
		if (!b)
			return TRUNCATED;
		t->source_qp = be32(U32(b, 16)) & 0xffffff;
	} else if (unlikely(service == SERVICE_RD)) {
		b = bytes_at(f, at, 16);
		if (!b)
			return TRUNCATED;
		if (b[12]) /* of RDETH, reserved: another protocol with RD's opcodes */
			return UNSUPPORTED;
	}
	if (t->what & HAS_AETH) {
		u8 syndrome;

		b = bytes_at(f, at + (service == SERVICE_RD ? 4 : 0), 16);
		if (!b)
			return TRUNCATED;
		syndrome = b[12];
		if (syndrome >> 5 == 0) {
			t->positive = 1;
		} else if (syndrome >> 5 == 1) {
			t->rnr = 1;
			t->rnr_timer = 1u << (syndrome & 31);
		} else if (syndrome >> 5 == 3) {
			t->nak = (syndrome & 31) + 1;
		}
	} else if ((t->what & 7) == KIND_READ) {
		u32 more = service == SERVICE_XRC ? 4 : service == SERVICE_RD ? 12 : 0;

		b = bytes_at(f, at + more, 28);
		if (!b)
			return TRUNCATED;
		t->read = be32(U32(b, 24));
	}
	return FOUND;
}

/* Whether a sequenced packet contradicts itself about its place in its message. */
inline_always u8 misplaced(void *b, u8 type, u8 flags, u32 payload)
{
	u64 offset = be32(U32(b, 28)), whole = be32(U32(b, 32)), reached = offset + payload;

	return !offset != !!(flags & 0x10) || reached > whole ||
	       (type != READ_REQ && (reached == whole) != !!(flags & 0x08));
}

/* Whether fields of a CONN header are out of their ranges. */
inline_always u8 impossible(void *b)
{
	u16 mtu = be16(U16(b, 22));

	return U8(b, 20) < 1 || U8(b, 20) > 128 || U8(b, 21) < 1 || mtu < 256 || mtu > 8192 || mtu & (mtu - 1) ||
	       be16(U16(b, 34)) > 256;
}

inline_always u8 metaroce(const struct frame *f, const struct packet *p, struct transport *t)
{
	u32 at = p->at, end = p->end, need, payload, length;
	const struct packet_type *shape;
	u8 type, flags;
	u8 *b;

	length = end > at ? end - at : 0;
	if (unlikely(length < 20))
		return DOUBTFUL;
	b = bytes_at(f, at, 16);
	if (unlikely(!b))
		return TRUNCATED;
	type = b[0] & 15;
	flags = b[1];
	shape = &types[type];
	need = shape->length;
	payload = be16(U16(b, 2));
	if (unlikely(b[0] >> 4 || !need))
		return DOUBTFUL;
	if (flags & 0x04 && (type == WRITE || type == SEND))
		need += 4;
	if (unlikely(length != need + payload + 4))
		return DOUBTFUL;
	if (unlikely((payload && !shape->payload) ||
		     (flags & 0x04 && ((type != WRITE && type != SEND) || !(flags & 0x08)))))
		return MALFORMED;
	t->who = who(be32(U32(b, 4)), b[8], SERVICE_METAROCE, METAROCE, shape->sequenced ? SIDE_REQUESTS : SIDE_ANSWERS);
	t->psn = be32(U32(b, 12));
	t->plane = b[9];
	t->payload = payload;
	t->what = shape->kind;
	if (unlikely(!bytes_at(f, at + need - 1, 1)))
		return TRUNCATED;
	if (likely(shape->sequenced)) {
		b = bytes_at(f, at, 36);
		if (!b)
			return TRUNCATED;
		if (unlikely(misplaced(b, type, flags, payload)))
			return MALFORMED;
		t->what |= SEQUENCED;
		if (flags & 0x10 && shape->kind <= KIND_ATOMIC && type != PROBE)
			t->what |= STARTS;
		t->resent = flags >> 6 & 1;
		t->probe = type == PROBE;
		return FOUND;
	}
	if (b[8] > 127)
		return MALFORMED;
	switch (type) {
	case ACK:
		t->what |= HAS_AETH;
		t->positive = 1;
		break;
	case NAK:
		b = bytes_at(f, at, 32);
		if (!b)
			return TRUNCATED;
		t->what |= HAS_AETH;
		if (b[16] == 1) {
			t->rnr = 1;
			t->rnr_timer = be32(U32(b, 28));
		} else {
			t->nak = b[16] < NAK_CODES ? b[16] + 1 : NAK_CODES;
		}
		break;
	case CONN_REQ:
	case CONN_REP:
		b = bytes_at(f, at, 48);
		if (!b)
			return TRUNCATED;
		if (impossible(b))
			return MALFORMED;
		if (type == CONN_REQ)
			t->source_qp = be32(U32(b, 16));
		t->what |= STARTS;
		break;
	default:
		t->what |= STARTS;
	}
	return FOUND;
}

#endif
