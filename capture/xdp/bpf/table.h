/* Where entries are: what changes all the time is in slots of a table, found without a call of the kernel and in one line
 * of the cache; the rest is in the map `connections`, which also tells the CPUs whose a slot is. */
#ifndef ROCELENS_TABLE_H
#define ROCELENS_TABLE_H

#include "entry.h"

#define WAYS 8 /* slots that an identity may have */

struct bucket {
	struct hot slot[WAYS];
};

struct {
	number(type, BPF_MAP_TYPE_ARRAY);
	number(map_flags, BPF_F_MMAPABLE);
	number(max_entries, 32768);
	type(key, u32);
	type(value, struct bucket);
} table SEC(".maps");

/* Keys are numbers of slots, and for entries that found no free one hashes from WITHOUT_SLOT on. */
struct {
	number(type, BPF_MAP_TYPE_HASH);
	number(map_flags, BPF_F_NO_PREALLOC);
	number(max_entries, 262144);
	type(key, u64);
	type(value, struct entry);
} connections SEC(".maps");

#define WITHOUT_SLOT (1ull << 63)

/* Set before the programs are loaded: odd numbers that nobody can foresee, and 64 less the bits of a bucket's number. */
const volatile u64 seed = 0x9e3779b97f4a7c15;
const volatile u64 other_seed = 0xbb67ae8584caa73b;
const volatile u32 table_shift = 64 - 15;

/* Who sends to whom. */
inline_always u64 who(u32 qp, u64 path, u64 service, u64 protocol, u64 side)
{
	return qp | path << 32 | service << 40 | side << 44 | protocol << 45;
}

#define OF_IPV6 (1ull << 48) /* of identity.whose: addresses is a digest */

/* Who, counted by which CPU in which generation, of which no more than three have slots. */
inline_always u64 whose(u64 who, u32 generation, u32 cpu) { return who | (u64)(generation & 3) << 49 | (u64)cpu << 51; }

/* Tells entries apart. addresses are both of IPv4, as they stand in the packet. Of IPv6 it is a digest, and with the
 * three other words it is one only of one pair of addresses. */
struct identity {
	u64 addresses;
	u64 whose;
	u64 source_high;
	u64 destination_high;
	u64 destination_low;
	u32 source_qp;
};

inline_always u64 digest(u64 source_high, u64 source_low, u64 destination_high, u64 destination_low)
{
	return source_low * 0x6a09e667f3bcc909 + (source_high ^ (destination_high << 32 | destination_high >> 32)) + destination_low;
}

inline_always u64 hash(u64 addresses, u64 whose) { return addresses * seed + whose * other_seed; }

inline_always struct bucket *bucket_of(u64 hash)
{
	u32 number = hash >> table_shift;

	return bpf_map_lookup_elem(&table, &number);
}

/* The i-th slot of a bucket that is looked at. */
inline_always u32 way(u64 hash, u32 i) { return ((u32)(hash >> (table_shift - 3)) + i) & (WAYS - 1); }

inline_always u64 key_of(u64 hash, u32 way) { return (hash >> table_shift) * WAYS + way; }

/* Without branches, of which the verifier would follow each. */
inline_always u8 is_of(const struct hot *h, const struct identity *id)
{
	return !((h->whose ^ id->whose) | (h->addresses ^ id->addresses) | (h->source_high ^ id->source_high) |
		 (h->destination_high ^ id->destination_high) | (h->destination_low ^ id->destination_low) |
		 (h->source_qp ^ id->source_qp));
}

/* An entry, and where its counts are. */
struct place {
	struct hot *hot;
	struct entry *entry;
};

inline_always u8 find(const struct identity *id, struct place *p)
{
	u64 h = hash(id->addresses, id->whose), key = h | WITHOUT_SLOT;
	struct bucket *b = bucket_of(h);

	if (!b)
		return 0;
	p->hot = 0;
	for (u32 i = 0; i < WAYS; i++) {
		struct hot *s = &b->slot[way(h, i)];

		if (is_of(s, id)) {
			p->hot = s;
			key = key_of(h, way(h, i));
			break;
		}
	}
	p->entry = bpf_map_lookup_elem(&connections, &key);
	if (!p->entry)
		return 0;
	if (p->hot)
		return 1;
	p->hot = &p->entry->hot;
	return is_of(p->hot, id);
}

/* Puts a new entry into a slot, or only into the map. A slot is free when the map has no such key: CPUs may reach for it
 * at once. */
inline_always u8 put(const struct identity *id, const struct entry *e)
{
	u64 h = hash(id->addresses, id->whose), key = h | WITHOUT_SLOT;
	struct bucket *b = bucket_of(h);

	if (!b)
		return 0;
	for (u32 i = 0; i < WAYS; i++) {
		struct hot *s = &b->slot[way(h, i)];
		u64 slot = key_of(h, way(h, i));
		long no;

		if (s->whose)
			continue;
		no = bpf_map_update_elem(&connections, &slot, e, BPF_NOEXIST);
		if (!no) {
			*s = e->hot;
			return 1;
		}
		if (no != -EEXIST)
			return 0;
	}
	return !bpf_map_update_elem(&connections, &key, e, BPF_NOEXIST);
}

#endif
