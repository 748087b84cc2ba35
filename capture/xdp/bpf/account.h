/* Counts a packet for its connection. */
#ifndef ROCELENS_ACCOUNT_H
#define ROCELENS_ACCOUNT_H

#include "entry.h"
#include "opcodes.h"
#include "sequence.h"
#include "table.h"
#include "walk.h"

/* Entries of one packet that found no room in the map. */
struct {
	number(type, BPF_MAP_TYPE_RINGBUF);
	number(max_entries, 1 << 22);
} spilled SEC(".maps");

struct ledger {
	u64 rdma;
	u64 rdma_bytes;
	u64 spilled; /* of rdma: in the ring */
	u64 entries; /* made */
	u64 other_bytes;
	u64 other[REASONS];
};

/* A new generation begins with each sweep; totals of four are kept. */
#define GENERATIONS 4

struct {
	number(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	number(max_entries, GENERATIONS);
	type(key, u32);
	type(value, struct ledger);
} totals SEC(".maps");

struct {
	number(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	number(max_entries, 1);
	type(key, u32);
	type(value, struct entry);
} scratch SEC(".maps");

/* Set anew by each sweep. */
volatile u32 generation = 1;

/* What the transport headers say. */
struct transport {
	u64 who;
	u32 source_qp;
	u32 psn;
	u32 payload;
	u32 read; /* bytes that a READ asks for */
	u32 rnr_timer;
	u8 shift; /* PSNs have 32 bits less these */
	u8 what;
	u8 nak;   /* code plus one; 0: none */
	u8 rnr;
	u8 positive; /* ACK */
	u8 resent;
	u8 probe;
	u8 plane;
};

inline_always void identify(struct identity *id, const struct packet *p, const struct transport *t, u32 generation, u32 cpu)
{
	id->whose = whose(t->who, generation, cpu);
	id->source_qp = t->source_qp;
	id->source_high = p->source_high;
	id->destination_high = p->destination_high;
	if (!(p->source_high | p->destination_high) && (u32)p->source_low == 0xffff0000 && (u32)p->destination_low == 0xffff0000) {
		id->addresses = p->source_low >> 32 | p->destination_low >> 32 << 32;
		id->destination_low = 0;
	} else {
		id->whose |= OF_IPV6;
		id->addresses = digest(p->source_high, p->source_low, p->destination_high, p->destination_low);
		id->destination_low = p->destination_low;
	}
}

/* Copies what a packet's frame says of the way it came. */
inline_always void note_way(struct entry *e, const struct frame *f, const struct packet *p)
{
	u8 *b;

	e->first_port = p->port;
	e->vlan = p->vlan;
	e->dscp = p->tos >> 2;
	e->tunnel = p->tunnel;
	if (p->mac) {
		b = bytes_at(f, p->mac - 1, 12);
		if (b)
			for (u32 i = 0; i < 12; i++)
				e->mac[i] = b[i];
	}
	if (p->tunnel == TUNNEL_NONE)
		return;
	if (p->outer_version == 4) {
		b = bytes_at(f, p->outer, 20);
		if (b) {
			e->outer[1] = mapped(U32(b, 12));
			e->outer[3] = mapped(U32(b, 16));
		}
	} else if (p->outer_version == 6) {
		b = bytes_at(f, p->outer, 40);
		if (b)
			for (u32 i = 0; i < 4; i++)
				e->outer[i] = U64(b, 8 + 8 * i);
	}
}

/* Goes on where the generation before ended. */
inline_always void inherit(struct entry *e, const struct place *before)
{
	const struct entry *was = before->entry;

	e->hot.next = before->hot->next;
	e->hot.plane = before->hot->plane;
	e->hot.state = before->hot->state;
	e->hot.mtu = before->hot->mtu;
	e->span = was->span;
	e->lowest = was->lowest;
	e->holes = was->holes;
	e->old_holes = (1 << (was->holes & 15)) - 1;
	e->flags = SEQUENCE | FROM_BEFORE;
	for (u32 i = 0; i < HOLES; i++)
		e->hole[i] = was->hole[i];
}

/* How many PSNs a READ takes beside its own, and at most how many. */
inline_always void read_spans(struct hot *h, struct entry *e, u32 length)
{
	if (length <= 256)
		return;
	if (h->mtu) {
		h->next += (length - 1) / h->mtu;
	} else {
		h->state |= SPANNING;
		e->span = (length - 1) >> 8;
	}
}

/* What is none of these is a positive acknowledgment. */
inline_always void answer(struct entry *e, const struct transport *t)
{
	if (t->positive)
		return;
	if (t->rnr) {
		e->rnr++;
		if (t->shift)
			e->rnr_timer |= t->rnr_timer;
		else if (t->rnr_timer > e->rnr_timer)
			e->rnr_timer = t->rnr_timer;
	} else if (t->nak) {
		u32 code = t->nak - 1;

		if (code > NAK_CODES - 1)
			code = NAK_CODES - 1;
		e->naks[code & (NAK_CODES - 1)]++;
	} else {
		e->reserved++;
	}
}

/* What ECN's bits add to hot.ecn. */
inline_always u64 ecn_of(u8 tos) { return (tos & 3 ? 1 : 0) | (u64)((tos & 3) == 3) << 32; }

inline_always void count(struct hot *h, struct entry *e, const struct frame *f, const struct packet *p, const struct transport *t)
{
	u8 what = t->what;
	u8 seen = 0;

	h->packets++;
	h->bytes += f->length;
	h->payload += t->payload;
	h->ecn += ecn_of(p->tos);
	h->last = bpf_jiffies64();
	if (unlikely(h->port != p->port)) {
		h->port = p->port;
		e->port_changes++;
	}
	if (what & SEQUENCED) {
		if (h->next != t->psn || !(h->state & HAS_SEQUENCE))
			seen = unexpected(h, e, t->psn, t->shift, (what & (ANSWER | STARTS)) == (ANSWER | STARTS));
		if (likely(!(seen & 2))) {
			h->next = (t->psn + 1) << t->shift >> t->shift;
			h->state = HAS_SEQUENCE;
			e->span = 0;
			if ((what & 7) == KIND_READ && t->shift)
				read_spans(h, e, t->read);
		}
		if (unlikely(seen & 1))
			e->again += t->payload;
		if (unlikely(t->resent | t->probe)) {
			e->resent += t->resent;
			e->probes += t->probe;
		}
		if (unlikely(t->plane != h->plane)) {
			h->plane = t->plane;
			e->plane_changes++;
		}
	}
	if (what & FULL && unlikely(t->payload > h->mtu))
		h->mtu = t->payload;
	/* What was sent again on another path has a PSN that is due, and began before. */
	if (what & STARTS ? !(seen & 1) && !(t->resent && !seen) : (what & 7) >= KIND_READ_RESPONSE)
		h->ops[what & 7]++;
	if (what & HAS_AETH)
		answer(e, t);
}

/* Counts a packet, be it in the map or in the ring. It answers FOUND or OVERFLOW. */
inline_always u8 account(const struct frame *f, const struct packet *p, const struct transport *t, struct ledger *sum, u32 now_of, u32 cpu)
{
	struct identity id = {};
	struct place at;
	struct entry *e;
	u32 zero = 0;

	identify(&id, p, t, now_of, cpu);
	if (likely(find(&id, &at))) {
		count(at.hot, at.entry, f, p, t);
		return FOUND;
	}
	e = bpf_map_lookup_elem(&scratch, &zero);
	if (!e)
		return OVERFLOW;
	__builtin_memset(e, 0, sizeof(*e));
	e->source_high = p->source_high;
	e->source_low = p->source_low;
	e->destination_high = p->destination_high;
	e->destination_low = p->destination_low;
	e->who = t->who;
	e->generation = now_of;
	e->cpu = cpu;
	e->first_psn = t->psn;
	e->hot.addresses = id.addresses;
	e->hot.whose = id.whose;
	e->hot.source_high = id.source_high;
	e->hot.destination_high = id.destination_high;
	e->hot.destination_low = id.destination_low;
	e->hot.source_qp = id.source_qp;
	e->hot.plane = t->plane;
	e->hot.port = p->port;
	note_way(e, f, p);
	id.whose ^= whose(0, now_of, 0) ^ whose(0, now_of - 1, 0); /* the same in the generation before */
	if (find(&id, &at) && at.hot->state & HAS_SEQUENCE)
		inherit(e, &at);
	count(&e->hot, e, f, p, t);
	e->hot.first = e->hot.last;
	id.whose = e->hot.whose;
	if (likely(put(&id, e))) {
		sum->entries++;
		return FOUND;
	}
	if (bpf_ringbuf_output(&spilled, e, sizeof(*e), 0))
		return OVERFLOW;
	sum->spilled++;
	return FOUND;
}

#endif
