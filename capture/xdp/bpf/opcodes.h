/* InfiniBand's opcodes (IBTA volume 1, section 9.2.1): how long all headers are, and what the packet does. */
#ifndef ROCELENS_OPCODES_H
#define ROCELENS_OPCODES_H

#include "entry.h"

#define ANSWER 8     /* the packet answers requests of the other direction */
#define STARTS 16    /* it is the first of a message */
#define FULL 32      /* FIRST or MIDDLE: its payload is as long as the path MTU */
#define SEQUENCED 64 /* its PSN is the next one of its direction and side */
#define HAS_AETH 128

struct opcode {
	u8 length; /* of all headers, 0: reserved */
	u8 what;   /* kind, and the flags above */
};

#define OP(service, code, headers, what) [(service) << 5 | (code)] = {12 + (headers), what}

/* SEND and WRITE; more is what the service puts before the headers of requests. */
#define DATA(service, more, in_order)                                          \
	OP(service, 0x00, more, KIND_SEND | STARTS | FULL | in_order),         \
	OP(service, 0x01, more, KIND_SEND | FULL | in_order),                  \
	OP(service, 0x02, more, KIND_SEND | in_order),                         \
	OP(service, 0x03, more + 4, KIND_SEND | in_order),                     \
	OP(service, 0x04, more, KIND_SEND | STARTS | in_order),                \
	OP(service, 0x05, more + 4, KIND_SEND | STARTS | in_order),            \
	OP(service, 0x06, more + 16, KIND_WRITE | STARTS | FULL | in_order),   \
	OP(service, 0x07, more, KIND_WRITE | FULL | in_order),                 \
	OP(service, 0x08, more, KIND_WRITE | in_order),                        \
	OP(service, 0x09, more + 4, KIND_WRITE | in_order),                    \
	OP(service, 0x0a, more + 16, KIND_WRITE | STARTS | in_order),          \
	OP(service, 0x0b, more + 20, KIND_WRITE | STARTS | in_order)

/* What is answered; less is what the service puts before the headers of answers. */
#define ANSWERED(service, more, less, in_order)                                                   \
	OP(service, 0x0c, more + 16, KIND_READ | STARTS | in_order),                              \
	OP(service, 0x0d, less + 4, KIND_READ_RESPONSE | ANSWER | STARTS | FULL | in_order),      \
	OP(service, 0x0e, less, KIND_READ_RESPONSE | ANSWER | FULL | in_order),                   \
	OP(service, 0x0f, less + 4, KIND_READ_RESPONSE | ANSWER | in_order),                      \
	OP(service, 0x10, less + 4, KIND_READ_RESPONSE | ANSWER | STARTS | in_order),             \
	OP(service, 0x11, less + 4, KIND_ACK | ANSWER | HAS_AETH),                                \
	OP(service, 0x12, less + 12, KIND_ATOMIC_RESPONSE | ANSWER),                              \
	OP(service, 0x13, more + 28, KIND_ATOMIC | STARTS | in_order),                            \
	OP(service, 0x14, more + 28, KIND_ATOMIC | STARTS | in_order),                            \
	OP(service, 0x1c, more + 20, KIND_OTHER | STARTS | in_order)

#define INVALIDATE(service, more)                              \
	OP(service, 0x16, more + 4, KIND_SEND | SEQUENCED),    \
	OP(service, 0x17, more + 4, KIND_SEND | STARTS | SEQUENCED)

static const struct opcode opcodes[256] = {
	DATA(SERVICE_RC, 0, SEQUENCED),
	ANSWERED(SERVICE_RC, 0, 0, SEQUENCED),
	INVALIDATE(SERVICE_RC, 0),
	OP(SERVICE_RC, 0x1d, 16, KIND_ATOMIC | STARTS | SEQUENCED),
	DATA(SERVICE_UC, 0, SEQUENCED),
	DATA(SERVICE_RD, 12, 0),
	ANSWERED(SERVICE_RD, 12, 4, 0),
	OP(SERVICE_RD, 0x15, 12, KIND_OTHER | STARTS),
	OP(SERVICE_UD, 0x04, 8, KIND_SEND | STARTS),
	OP(SERVICE_UD, 0x05, 12, KIND_SEND | STARTS),
	OP(SERVICE_CNP, 0x01, 16, KIND_OTHER | STARTS),
	DATA(SERVICE_XRC, 4, SEQUENCED),
	ANSWERED(SERVICE_XRC, 4, 0, SEQUENCED),
	INVALIDATE(SERVICE_XRC, 4),
};

/* MetaRoCE's packet types (profile mr0). */
struct packet_type {
	u8 length; /* of all headers but IMMH, 0: reserved */
	u8 kind;
	u8 sequenced;
	u8 payload;
};

#define CONN_REQ 0
#define CONN_REP 1
#define WRITE 4
#define SEND 5
#define READ_REQ 6
#define PROBE 10
#define ACK 11
#define NAK 12

static const struct packet_type types[16] = {
	[0] = {48, KIND_OTHER, 0, 0},
	[1] = {48, KIND_OTHER, 0, 0},
	[2] = {28, KIND_OTHER, 0, 0},
	[3] = {24, KIND_OTHER, 0, 0},
	[4] = {48, KIND_WRITE, 1, 1},
	[5] = {44, KIND_SEND, 1, 1},
	[6] = {52, KIND_READ, 1, 0},
	[7] = {40, KIND_READ_RESPONSE, 1, 1},
	[8] = {68, KIND_ATOMIC, 1, 0},
	[9] = {44, KIND_ATOMIC_RESPONSE, 1, 0},
	[10] = {36, KIND_OTHER, 1, 0},
	[11] = {76, KIND_ACK, 0, 0},
	[12] = {32, KIND_ACK, 0, 0},
};

#endif
