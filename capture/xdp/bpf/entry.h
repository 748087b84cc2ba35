/* What is kept of a connection, and of a path of MetaRoCE, by one CPU in one generation. */
#ifndef ROCELENS_ENTRY_H
#define ROCELENS_ENTRY_H

#include "kernel.h"

/* Protocols, numbered as rocelens does everywhere. */
#define ROCE_V1 1
#define ROCE_V2 2
#define METAROCE 4

/* Services: those of InfiniBand are the upper bits of the opcode. */
#define SERVICE_RC 0
#define SERVICE_UC 1
#define SERVICE_RD 2
#define SERVICE_UD 3
#define SERVICE_CNP 4
#define SERVICE_XRC 5
#define SERVICE_METAROCE 8

/* Sides: an entry is of one direction, and of requests or of answers. MetaRoCE: of sequenced packets, or of others. */
#define SIDE_REQUESTS 0
#define SIDE_ANSWERS 1

/* What a packet is to be counted as: index of hot.ops. */
#define KIND_OTHER 0
#define KIND_SEND 1
#define KIND_WRITE 2
#define KIND_READ 3
#define KIND_ATOMIC 4
#define KIND_READ_RESPONSE 5
#define KIND_ATOMIC_RESPONSE 6
#define KIND_ACK 7
#define KINDS 8

/* hot.state */
#define HAS_SEQUENCE 1 /* next is set */
#define SPANNING 2     /* entry.span is set */

/* entry.flags */
#define SEQUENCE 1    /* HAS_SEQUENCE, for the reader */
#define FROM_BEFORE 2 /* the sequence goes on from the generation before */
#define UNSURE 4      /* packets came that are duplicates, or not */
#define RESTARTED 8   /* PSNs jumped further than any gap */

#define HOLES 8
#define NAK_CODES 8 /* the last for all that are reserved */

struct hole {
	u32 start;
	u32 length;
};

/* What packets change all the time, in a slot of the table where there is one: of a packet within a message one line of
 * the cache, and of those that begin one, or have IPv6, another. */
struct hot {
	u64 addresses; /* see struct identity */
	u64 whose;     /* 0: the slot is free */
	u64 packets;
	u64 bytes; /* on the wire */
	u64 payload;
	u64 ecn;  /* ECN-capable packets, marked ones included; in the upper half marked ones */
	u32 next; /* PSN that is expected; these four are compared as one word */
	u16 port; /* UDP source port of the latest packet, as on the wire */
	u8 plane;
	u8 state;
	u32 last; /* time of the latest packet, jiffies */
	u16 mtu;  /* largest payload of a FIRST or MIDDLE packet */
	u16 unused;

	u32 ops[KINDS]; /* requests: begun, each once; answers: packets */
	u64 source_high;
	u64 destination_high;
	u64 destination_low;
	u32 source_qp; /* of datagrams; of a CONN_REQ the id that its sender chose */
	u32 first;     /* time of the first packet, jiffies */
};

/* Only one CPU writes an entry, since its number is part of the identity. */
struct entry {
	struct hot hot; /* where it has no slot; otherwise as it was made */
	/* Who: addresses as IPv6, and IPv4 mapped into it, as they stand in memory. */
	u64 source_high;
	u64 source_low;
	u64 destination_high;
	u64 destination_low;
	u64 who;
	u64 again; /* payload of duplicates */
	u32 generation;
	u32 cpu;
	u32 span;      /* PSNs after next that the latest READ may have taken */
	u32 first_psn; /* in this generation */
	u32 lowest;    /* PSN from which on all is known */
	u32 gaps;
	u32 missing; /* PSNs of gaps of this generation, less those that came later */
	u32 late;    /* packets that filled a gap, of any generation */
	u32 duplicates;
	u32 rnr;
	u32 rnr_timer; /* RoCE: bit i for timer code i; MetaRoCE: longest, ns */
	u32 reserved;  /* acknowledgments of a kind that there is not */
	u32 naks[NAK_CODES];
	u32 resent; /* MetaRoCE: with the flag RTX */
	u32 probes;
	u32 plane_changes;
	u32 port_changes;
	u16 first_port; /* of the first packet */
	u16 vlan;       /* VID plus one, 0 when there is no tag */
	u8 dscp;        /* of the first packet */
	u8 tunnel;      /* see walk.h */
	u8 flags;
	u8 holes;
	u8 old_holes; /* bit i: hole i is of a generation before */
	u8 mac[12];   /* destination, source */
	u8 unused[3];
	u64 outer[4]; /* source, destination of the outermost IP header */
	struct hole hole[HOLES];
};

#endif
