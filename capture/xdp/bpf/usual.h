/* Counts what almost all packets are in one straight line: RoCEv2 and MetaRoCE in Ethernet with at most one tag, of a
 * connection that has a slot, with the PSN that is due and nothing else of note. All else is for walk and account, which
 * would come to the same. */
#ifndef ROCELENS_USUAL_H
#define ROCELENS_USUAL_H

#include "account.h"

/* What a packet adds to its slot. */
struct usual {
	u64 who;
	u64 due; /* PSN, port, plane and state, as hot has them */
	u32 payload;
	u8 what;
};

/* port, plane and state of hot. */
inline_always u64 due(u32 psn, u16 port, u64 plane) { return psn | (u64)port << 32 | plane << 48 | (u64)HAS_SEQUENCE << 56; }

inline_always u8 usual_roce(const struct frame *f, u8 *udp, u32 length, struct usual *x)
{
	u32 first = U32(udp, 8), psn = be32(U32(udp, 16)), rest;
	const struct opcode *o = &opcodes[(u8)first];
	u8 what = o->what;

	x->what = what;
	if (unlikely(first & 0x0f00 || !(first & 0xff7f0000) || udp[0] < 4 || psn & 0x7f000000))
		return 0;
	rest = 8 + o->length + (first >> 12 & 3) + 4;
	if (unlikely(length < rest || udp + 8 + o->length > (u8 *)f->data_end))
		return 0;
	if (what & SEQUENCED) {
		if (unlikely((what & 7) == KIND_READ))
			return 0;
	} else if (unlikely((first & 0x5f) != 0x11 || udp[20] >> 5)) { /* positive ACK of RC or XRC */
		return 0;
	}
	x->payload = length - rest;
	x->who = who(be32(U32(udp, 12)) & 0xffffff, 0, (u8)first >> 5, ROCE_V2, what & ANSWER ? SIDE_ANSWERS : SIDE_REQUESTS);
	x->due = due(psn & 0xffffff, U16(udp, 0), 0);
	return 1;
}

inline_always u8 usual_metaroce(const struct frame *f, u8 *udp, u32 length, struct usual *x)
{
	u8 *b = udp + 8, type, flags;
	const struct packet_type *shape;
	u32 payload;

	if (unlikely(b + 36 > (u8 *)f->data_end))
		return 0;
	type = b[0];
	flags = b[1];
	payload = be16(U16(b, 2));
	if (unlikely(type > ACK || flags & ~0x18))
		return 0;
	shape = &types[type & 15];
	if (unlikely(length != 8 + shape->length + payload + 4 || b + shape->length > (u8 *)f->data_end))
		return 0;
	x->payload = payload;
	x->what = shape->kind;
	if (likely(shape->payload)) {
		if (unlikely(misplaced(b, type, flags, payload)))
			return 0;
		x->what |= SEQUENCED;
		if (flags & 0x10 && shape->kind <= KIND_ATOMIC)
			x->what |= STARTS;
	} else if (unlikely(type != ACK || payload || b[8] > 127)) {
		return 0;
	}
	x->who = who(be32(U32(b, 4)), b[8], SERVICE_METAROCE, METAROCE, shape->payload ? SIDE_REQUESTS : SIDE_ANSWERS);
	x->due = due(be32(U32(b, 12)), U16(udp, 0), b[9]);
	return 1;
}

typedef u64 __attribute__((may_alias)) word;

/* It answers whether the packet has been counted. */
inline_always u8 usual(const struct frame *f, u32 now_of, u32 cpu)
{
	u64 addresses, of, h, source_high = 0, destination_high = 0, destination_low = 0, unlike;
	u8 *b = f->data, *udp, tos, seen;
	struct bucket *bucket;
	struct usual x;
	struct hot *s;
	u32 length;

	if (unlikely(f->segment || b + 14 + 20 + 28 > (u8 *)f->data_end))
		return 0;
	if (U16(b, 12) == be16(0x8100)) {
		b += 4;
		if (unlikely(b + 14 + 20 + 28 > (u8 *)f->data_end))
			return 0;
	}
	if (likely(U16(b, 12) == be16(0x0800))) {
		if (unlikely(b[14] != 0x45 || (U32(b, 20) & 0xff00ff3f) != 0x11000000))
			return 0;
		of = 0;
		tos = b[15];
		addresses = U64(b, 26);
		length = be16(U16(b, 16)) - 20;
		udp = b + 34;
	} else {
		if (unlikely(U16(b, 12) != be16(0x86dd) || b + 14 + 40 + 28 > (u8 *)f->data_end || b[14] >> 4 != 6 || b[20] != 17))
			return 0;
		of = OF_IPV6;
		tos = be16(U16(b, 14)) >> 4;
		source_high = U64(b, 22);
		destination_high = U64(b, 38);
		destination_low = U64(b, 46);
		addresses = digest(source_high, U64(b, 30), destination_high, destination_low);
		length = be16(U16(b, 18));
		udp = b + 54;
	}
	if (unlikely(be16(U16(udp, 4)) != length || length > 16384))
		return 0;
	if (U16(udp, 2) == be16(PORT_ROCE))
		seen = usual_roce(f, udp, length, &x);
	else if (U16(udp, 2) == be16(metaroce_port))
		seen = usual_metaroce(f, udp, length, &x);
	else
		seen = 0;
	if (unlikely(!seen))
		return 0;
	of |= whose(x.who, now_of, cpu);
	h = hash(addresses, of);
	bucket = bucket_of(h);
	if (!bucket)
		return 0;
	s = &bucket->slot[way(h, 0)];
	if (unlikely(s->whose != of || s->addresses != addresses)) {
		for (u32 i = 1; i < WAYS; i++) {
			s = &bucket->slot[way(h, i)];
			if (s->whose == of && s->addresses == addresses)
				goto found;
		}
		return 0;
	}
found:
	if (of & OF_IPV6 && unlikely(s->source_high != source_high || s->destination_high != destination_high || s->destination_low != destination_low))
		return 0;
	unlike = *(word *)&s->next ^ x.due;
	if (x.what & SEQUENCED) {
		if (unlikely(unlike || x.due << 40 == ~0ull << 40 || (x.what & FULL && x.payload > s->mtu)))
			return 0;
		*(word *)&s->next = x.due + 1;
	} else if (unlikely(unlike << 16 >> 48 || s->source_qp)) {
		return 0;
	}
	s->packets++;
	s->bytes += f->length;
	s->payload += x.payload;
	s->ecn += ecn_of(tos);
	s->last = bpf_jiffies64();
	if (x.what & STARTS || (x.what & 7) >= KIND_READ_RESPONSE)
		s->ops[x.what & 7]++;
	return 1;
}

#endif
