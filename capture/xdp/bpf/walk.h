/* The way from the begin of a frame to its transport header. It judges as package dissector does: a length that the
 * headers contradict is malformed, a header that lies behind the frame's end is truncated. */
#ifndef ROCELENS_WALK_H
#define ROCELENS_WALK_H

#include "entry.h"

/* Why a packet is in no entry. */
#define NOT_RDMA 0
#define UNSUPPORTED 1 /* headers that the program does not follow */
#define FRAGMENT 2
#define TRUNCATED 3
#define MALFORMED 4
#define DOUBTFUL 5 /* on a port of RDMA, and only its ICRC could tell */
#define PAUSE 6
#define SEGMENTED 7 /* several packets in one, to be cut by the NIC */
#define OVERFLOW 8  /* no room, neither in the map nor in the ring */
#define REASONS 9
#define FOUND 255

/* Tunnels: of the innermost. */
#define TUNNEL_NONE 0
#define TUNNEL_VXLAN 1
#define TUNNEL_GRE 2
#define TUNNEL_ERSPAN1 3
#define TUNNEL_ERSPAN2 4
#define TUNNEL_ERSPAN3 5

#define PORT_ROCE 4791

/* MetaRoCE's UDP destination port. */
const volatile u16 metaroce_port = 51791;

struct frame {
	void *data;
	void *data_end;
	u32 length;  /* bytes on the wire, but for segments */
	u32 count;   /* packets that it stands for, or at most so many */
	u32 segment; /* payload of each of these but the last, when a NIC is to cut them; otherwise 0 */
	u16 vlan;    /* VID plus one of the tag that the kernel took out, or 0 */
	u8 tagged;
};

struct packet {
	u64 source_high;
	u64 source_low;
	u64 destination_high;
	u64 destination_low;
	u32 at;  /* offset of the transport header */
	u32 end; /* where the packet ends by its lengths; may lie behind the frame */
	u32 mac; /* offset of the innermost Ethernet header plus one; 0: none */
	u32 outer; /* offset of the outermost IP header of a tunnel */
	u16 port;  /* UDP source port, as on the wire */
	u16 vlan;
	u8 protocol;
	u8 tos;
	u8 tunnel;
	u8 outer_version;
};

/* Headers further in are not looked for. */
#define FURTHEST 1024
#define LAYERS 20
#define TUNNELS 4

/* n bytes at an offset, or nothing. */
inline_always void *bytes_at(const struct frame *f, u32 at, u32 n)
{
	void *p;

	if (at > FURTHEST)
		return 0;
	p = f->data + at;
	if (p + n > f->data_end)
		return 0;
	return p;
}

#define U8(p, i) (*((u8 *)(p) + (i)))
#define U16(p, i) (*(u16 *)((u8 *)(p) + (i)))
#define U32(p, i) (*(u32 *)((u8 *)(p) + (i)))
#define U64(p, i) (*(u64 *)((u8 *)(p) + (i)))

/* Reads n bytes at an offset, or ends the walk. */
#define READ(p, n)                       \
	do {                             \
		if (at + (n) > end)      \
			return MALFORMED; \
		p = bytes_at(f, at, n);  \
		if (!p)                  \
			return TRUNCATED; \
	} while (0)

inline_always u64 mapped(u32 address) { return (u64)address << 32 | 0xffff0000; }

/* The headers of which the walk is made. */
#define AT_ETHERNET 0
#define AT_TYPE 1
#define AT_IPV4 2
#define AT_IPV6 3
#define AT_UDP 4
#define AT_GRE 5
#define AT_VXLAN 6
#define AT_ERSPAN 7
#define AT_GRH 8
#define AT_IP 9

/* Where a walk has come to. It is in a map, since the verifier follows each value that a variable may have, and by that
 * each way through the headers: what comes from a map it takes as it comes, so that the ways meet again. */
struct walk {
	struct packet packet;
	u32 at;
	u32 end;
	u32 ip; /* offset of the latest IP header */
	u16 type;
	u8 next;
	u8 version; /* of the latest IP header */
	u8 tunnels;
};

struct {
	number(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	number(max_entries, 1);
	type(key, u32);
	type(value, struct walk);
} walks SEC(".maps");

inline_always struct walk *this_walk(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&walks, &zero);
}

/* Walks any frame. What it finds is in this_walk()->packet. */
inline_always u8 walk(const struct frame *f)
{
	volatile struct walk *w = this_walk();
	volatile struct packet *p;
	void *b;

	if (!w)
		return UNSUPPORTED;
	p = &w->packet;
	p->vlan = f->vlan;
	p->tunnel = TUNNEL_NONE;
	p->mac = 0;
	p->outer = 0;
	p->outer_version = 0;
	w->at = 0;
	w->end = f->length;
	w->next = AT_ETHERNET;
	w->version = 0;
	w->tunnels = 0;
	for (int i = 0; i < LAYERS; i++) {
		u32 at = w->at, end = w->end;
		u16 type = w->type;
		u8 next = w->next, version = w->version, tunnel = TUNNEL_NONE;

		switch (next) {
		case AT_ETHERNET:
			READ(b, 14);
			p->mac = at + 1;
			if (i)
				p->vlan = 0;
			type = be16(U16(b, 12));
			at += 14;
			next = AT_TYPE;
			break;
		case AT_TYPE:
			switch (type) {
			case 0x8100:
			case 0x88a8:
			case 0x9100:
			case 0x9200:
				READ(b, 4);
				p->vlan = (be16(U16(b, 0)) & 0xfff) + 1;
				type = be16(U16(b, 2));
				at += 4;
				break;
			case 0x0800:
				next = AT_IPV4;
				break;
			case 0x86dd:
				next = AT_IPV6;
				break;
			case 0x8915:
				next = AT_GRH;
				break;
			case 0x8808:
				b = bytes_at(f, at, 2);
				if (b && (be16(U16(b, 0)) == 0x0001 || be16(U16(b, 0)) == 0x0101))
					return PAUSE;
				return NOT_RDMA;
			case 0x8847:
			case 0x8848:
			case 0x88e5:
			case 0x88e7:
			case 0x8926:
			case 0x8903:
				return UNSUPPORTED;
			default:
				if (type < 0x600) {
					b = bytes_at(f, at, 3);
					if (b && U8(b, 0) == 0xaa && U8(b, 1) == 0xaa && U8(b, 2) == 3)
						return UNSUPPORTED;
				}
				return NOT_RDMA;
			}
			break;
		case AT_IP:
			READ(b, 1);
			if (U8(b, 0) >> 4 == 4)
				next = AT_IPV4;
			else if (U8(b, 0) >> 4 == 6)
				next = AT_IPV6;
			else
				return MALFORMED;
			break;
		case AT_IPV4: {
			u32 header, total;

			READ(b, 20);
			header = (U8(b, 0) & 15) * 4;
			if (U8(b, 0) >> 4 != 4 || header < 20)
				return MALFORMED;
			total = be16(U16(b, 2));
			if (!total)
				total = end - at;
			if (total < header)
				return MALFORMED;
			if (U16(b, 6) & be16(0x3fff))
				return FRAGMENT;
			p->source_high = p->destination_high = 0;
			p->source_low = mapped(U32(b, 12));
			p->destination_low = mapped(U32(b, 16));
			p->tos = U8(b, 1);
			w->ip = at;
			version = 4;
			end = at + total;
			type = U8(b, 9);
			at += header;
			goto protocol;
		}
		case AT_IPV6: {
			u32 total;

			READ(b, 40);
			if (U8(b, 0) >> 4 != 6)
				return MALFORMED;
			total = be16(U16(b, 4)) + 40;
			if (total == 40 && U8(b, 6) != 59 && end > at + 40)
				total = end - at;
			p->source_high = U64(b, 8);
			p->source_low = U64(b, 16);
			p->destination_high = U64(b, 24);
			p->destination_low = U64(b, 32);
			p->tos = be16(U16(b, 0)) >> 4;
			w->ip = at;
			version = 6;
			end = at + total;
			type = U8(b, 6);
			at += 40;
			goto protocol;
		}
		protocol:
			switch (type) {
			case 17:
				next = AT_UDP;
				break;
			case 47:
				next = AT_GRE;
				break;
			case 4:   /* IPv4 in IP */
			case 41:  /* IPv6 in IP */
			case 143: /* Ethernet in IP */
			case 137: /* MPLS in IP */
			case 50:  /* ESP */
			case 51:  /* AH */
				return UNSUPPORTED;
			case 0: /* extension headers of IPv6 */
			case 43:
			case 44:
			case 60:
			case 135:
			case 139:
			case 140:
				return version == 6 ? UNSUPPORTED : NOT_RDMA;
			default:
				return NOT_RDMA;
			}
			break;
		case AT_UDP: {
			u32 length, carried = end - at;
			u16 port;

			READ(b, 8);
			length = be16(U16(b, 4));
			port = be16(U16(b, 2));
			if (length != carried && !(length == 0 && carried > 65535)) {
				if (length < 8 || length > carried)
					return MALFORMED;
				end = at + length;
			}
			p->port = U16(b, 0);
			at += 8;
			if (port == PORT_ROCE || port == metaroce_port) {
				p->protocol = port == PORT_ROCE ? ROCE_V2 : METAROCE;
				p->at = at;
				p->end = end;
				return FOUND;
			}
			if (port == 4789 || port == 8472)
				next = AT_VXLAN;
			else if (port == 6081 || port == 4790 || port == 6635) /* GENEVE, VXLAN-GPE, MPLS */
				return UNSUPPORTED;
			else
				return NOT_RDMA;
			break;
		}
		case AT_VXLAN:
			if (at + 8 > end)
				return NOT_RDMA;
			READ(b, 8);
			if (!(U8(b, 0) & 8))
				return NOT_RDMA;
			at += 8;
			tunnel = TUNNEL_VXLAN;
			next = AT_ETHERNET;
			break;
		case AT_GRE: {
			u32 header = 4;
			u16 flags;

			READ(b, 4);
			flags = be16(U16(b, 0));
			type = be16(U16(b, 2));
			if (flags & 0x4007) /* source routes, versions */
				return UNSUPPORTED;
			header += flags >> 13 & 4; /* checksum: bit 15 */
			header += flags >> 11 & 4; /* key: bit 13 */
			header += flags >> 10 & 4; /* sequence number: bit 12 */
			if (at + header > end)
				return MALFORMED;
			if (!bytes_at(f, at + header - 1, 1))
				return TRUNCATED;
			at += header;
			if (type == 0x88be && !(flags & 0x1000)) {
				tunnel = TUNNEL_ERSPAN1;
				next = AT_ETHERNET;
			} else if (type == 0x88be || type == 0x22eb) {
				next = AT_ERSPAN;
			} else if (type < 0x600) {
				return NOT_RDMA;
			} else {
				tunnel = TUNNEL_GRE;
				next = type == 0x6558 ? AT_ETHERNET : AT_TYPE;
			}
			break;
		}
		case AT_ERSPAN:
			READ(b, 8);
			next = AT_ETHERNET;
			if (U8(b, 0) >> 4 == 1) {
				at += 8;
				tunnel = TUNNEL_ERSPAN2;
			} else if (U8(b, 0) >> 4 == 2) {
				u16 last;

				READ(b, 12);
				last = be16(U16(b, 10));
				at += 12;
				if (last & 1) {
					READ(b, 8);
					at += 8;
				}
				tunnel = TUNNEL_ERSPAN3;
				if ((last >> 10 & 31) == 2)
					next = AT_IP;
				else if (last >> 10 & 31)
					return UNSUPPORTED;
			} else {
				return UNSUPPORTED;
			}
			break;
		case AT_GRH:
			READ(b, 40);
			if (U8(b, 0) >> 4 != 6)
				return MALFORMED;
			if (U8(b, 6) != 0x1b)
				return UNSUPPORTED;
			p->source_high = U64(b, 8);
			p->source_low = U64(b, 16);
			p->destination_high = U64(b, 24);
			p->destination_low = U64(b, 32);
			p->tos = 0; /* nothing marks RoCEv1 */
			p->port = 0;
			end = at + 40 + be16(U16(b, 4));
			at += 40;
			p->protocol = ROCE_V1;
			p->at = at;
			p->end = end;
			return FOUND;
		}
		if (tunnel != TUNNEL_NONE) {
			if (w->tunnels == TUNNELS)
				return UNSUPPORTED;
			w->tunnels++;
			p->tunnel = tunnel;
			if (!p->outer_version) {
				p->outer = w->ip;
				p->outer_version = version;
			}
			version = 0;
		}
		w->at = at;
		w->end = end;
		w->type = type;
		w->next = next;
		w->version = version;
	}
	return UNSUPPORTED;
}

#define UNUSUAL 254

/* Finds the transport header of what almost all of RDMA is, Ethernet with IPv4 without options or with IPv6, in one
 * straight line. All else is UNUSUAL and for walk, which would come to the same. */
inline_always u8 quick(const struct frame *f, struct packet *p)
{
	void *b = f->data;
	u32 at, carried;
	u16 port, length;

	if (unlikely(b + 14 + 20 + 8 > f->data_end))
		return UNUSUAL;
	if (likely(U16(b, 12) == be16(0x0800))) {
		if (unlikely(U8(b, 14) != 0x45 || U16(b, 20) & be16(0x3fff) || U8(b, 23) != 17))
			return UNUSUAL;
		p->source_high = p->destination_high = 0;
		p->source_low = mapped(U32(b, 26));
		p->destination_low = mapped(U32(b, 30));
		p->tos = U8(b, 15);
		carried = be16(U16(b, 16)) - 20;
		p->port = U16(b, 34);
		port = U16(b, 36);
		length = U16(b, 38);
		at = 34;
	} else if (U16(b, 12) == be16(0x86dd)) {
		if (unlikely(b + 14 + 40 + 8 > f->data_end || U8(b, 14) >> 4 != 6 || U8(b, 20) != 17))
			return UNUSUAL;
		p->source_high = U64(b, 22);
		p->source_low = U64(b, 30);
		p->destination_high = U64(b, 38);
		p->destination_low = U64(b, 46);
		p->tos = be16(U16(b, 14)) >> 4;
		carried = be16(U16(b, 18));
		p->port = U16(b, 54);
		port = U16(b, 56);
		length = U16(b, 58);
		at = 54;
	} else {
		return UNUSUAL;
	}
	if (port == be16(PORT_ROCE))
		p->protocol = ROCE_V2;
	else if (port == be16(metaroce_port))
		p->protocol = METAROCE;
	else
		return UNUSUAL;
	if (unlikely(be16(length) != carried || carried < 8 || carried > 65535))
		return UNUSUAL;
	p->at = at + 8;
	p->end = at + carried;
	p->mac = 1;
	p->vlan = f->vlan;
	p->tunnel = TUNNEL_NONE;
	p->outer = 0;
	p->outer_version = 0;
	return FOUND;
}

#endif
