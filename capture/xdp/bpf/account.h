/* Counts a packet for its connection. */
#ifndef ROCELENS_ACCOUNT_H
#define ROCELENS_ACCOUNT_H

#include "entry.h"
#include "opcodes.h"
#include "sequence.h"
#include "walk.h"

struct {
	number(type, BPF_MAP_TYPE_HASH);
	number(map_flags, BPF_F_NO_PREALLOC);
	number(max_entries, 262144);
	type(key, u64);
	type(value, struct entry);
} connections SEC(".maps");

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

/* Set before the programs are loaded: what the kernel can do, and what makes keys unpredictable. */
const volatile u8 has_coarse_clock = 1;
const volatile u64 seed = 0x9e3779b97f4a7c15;

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

inline_always u64 now(void)
{
	if (has_coarse_clock)
		return bpf_ktime_get_coarse_ns();
	return bpf_ktime_get_ns();
}

inline_always u64 key_of(const struct packet *p, const struct transport *t)
{
	u64 k = (p->source_low ^ (p->destination_low << 32 | p->destination_low >> 32)) * 0xbb67ae8584caa73b + seed;

	k ^= k >> 32;
	k += t->who + ((u64)t->source_qp << 7);
	k *= 0x6a09e667f3bcc909;
	if (p->protocol == ROCE_V1 || p->source_high | p->destination_high) {
		k ^= k >> 29;
		k += p->source_high * 0x3c6ef372fe94f82b ^ p->destination_high;
		k *= 0xa54ff53a5f1d36f1;
	}
	return k ^ k >> 31;
}

#define OF_GENERATION(k, generation, cpu) ((k) + (u64)(generation) * 0x510e527fade682d1 + (u64)(cpu) * 0x9b05688c2b3e6c1f)

inline_always u8 is_of(const struct entry *e, const struct packet *p, const struct transport *t)
{
	return e->source_low == p->source_low && e->destination_low == p->destination_low && e->who == t->who &&
	       e->source_high == p->source_high && e->destination_high == p->destination_high &&
	       e->source_qp == t->source_qp;
}

/* Copies what a packet's frame says of the way it came. */
inline_always void note_way(struct entry *e, const struct frame *f, const struct packet *p)
{
	u8 *b;

	e->first_port = e->port = p->port;
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
inline_always void inherit(struct entry *e, const struct entry *was)
{
	e->next = was->next;
	e->span = was->span;
	e->lowest = was->lowest;
	e->mtu = was->mtu;
	e->holes = was->holes;
	e->plane = was->plane;
	e->old_holes = (1 << (was->holes & 15)) - 1;
	e->flags = HAS_SEQUENCE | FROM_BEFORE;
	for (u32 i = 0; i < HOLES; i++)
		e->hole[i] = was->hole[i];
}

/* How many PSNs a READ takes beside its own, and at most how many. */
inline_always void read_spans(struct entry *e, u32 length)
{
	if (length <= 256)
		return;
	if (e->mtu)
		e->next += (length - 1) / e->mtu;
	else
		e->span = (length - 1) >> 8;
}

inline_always void answer(struct entry *e, const struct transport *t)
{
	if (t->positive) {
		e->acks++;
	} else if (t->rnr) {
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
	}
}

inline_always void count(struct entry *e, const struct frame *f, const struct packet *p, const struct transport *t)
{
	u8 ecn = p->tos & 3, what = t->what;
	u8 seen = 0;

	e->packets++;
	e->bytes += f->length;
	e->payload += t->payload;
	e->last = now();
	if (ecn) {
		e->capable++;
		if (ecn == 3)
			e->marked++;
	}
	if (unlikely(e->port != p->port)) {
		e->port = p->port;
		e->port_changes++;
	}
	if (what & SEQUENCED) {
		if (unlikely(e->next != t->psn || !(e->flags & HAS_SEQUENCE)))
			seen = unexpected(e, t->psn, t->shift, (what & (ANSWER | STARTS)) == (ANSWER | STARTS));
		if (likely(!(seen & 2))) {
			e->next = (t->psn + 1) << t->shift >> t->shift;
			e->span = 0;
			if ((what & 7) == KIND_READ && t->shift)
				read_spans(e, t->read);
		}
		if (unlikely(seen & 1))
			e->again += t->payload;
		if (unlikely(t->resent | t->probe)) {
			e->resent += t->resent;
			e->probes += t->probe;
		}
		if (unlikely(t->plane != e->plane)) {
			e->plane = t->plane;
			e->plane_changes++;
		}
	}
	if (what & FULL && unlikely(t->payload > e->mtu))
		e->mtu = t->payload;
	/* What was sent again on another path has a PSN that is due, and began before. */
	if (what & STARTS ? !(seen & 1) && !(t->resent && !seen) : (what & 7) >= KIND_READ_RESPONSE)
		e->ops[what & 7]++;
	if (what & HAS_AETH)
		answer(e, t);
}

/* Counts a packet, be it in the map or in the ring. It answers FOUND or OVERFLOW. */
inline_always u8 account(const struct frame *f, const struct packet *p, const struct transport *t, struct ledger *sum, u32 now_of)
{
	u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	u64 base = key_of(p, t), key = OF_GENERATION(base, now_of, cpu);
	struct entry *e = bpf_map_lookup_elem(&connections, &key);

	if (likely(e && is_of(e, p, t))) {
		count(e, f, p, t);
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
	e->source_qp = t->source_qp;
	e->generation = now_of;
	e->cpu = cpu;
	e->first_psn = t->psn;
	e->plane = t->plane;
	note_way(e, f, p);
	{
		u64 before = OF_GENERATION(base, now_of - 1, cpu);
		struct entry *was = bpf_map_lookup_elem(&connections, &before);

		if (was && is_of(was, p, t) && was->flags & HAS_SEQUENCE)
			inherit(e, was);
	}
	count(e, f, p, t);
	e->first = e->last;
	if (likely(!bpf_map_update_elem(&connections, &key, e, BPF_NOEXIST))) {
		sum->entries++;
		return FOUND;
	}
	if (bpf_ringbuf_output(&spilled, e, sizeof(*e), 0))
		return OVERFLOW;
	sum->spilled++;
	return FOUND;
}

#endif
