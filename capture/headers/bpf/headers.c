/* Copies the headers of packets that are RDMA, or may be, into a ring, for rocelens-agent. The programs look at frames and
 * change nothing: they always let them go on. */
#include "../../xdp/bpf/walk.h"

const char licence[] SEC("license") = "Apache-2.0";

static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static u64 (*bpf_ringbuf_query)(void *ring, u64 what) = (void *)134;

#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0

/* A program of clsact outlives its agent, and then does nothing from this time on: ns, monotonic. 0: for ever. */
volatile u64 lease;

#define SNAP 192

struct record {
	u64 time;   /* ns, monotonic */
	u32 length; /* bytes on the wire */
	u16 captured;
	u16 tag;  /* of the VLAN tag that the kernel took out: VID and priority */
	u16 type; /* and its TPID; 0: there is none */
	u8 direction;
	u8 unused[5];
	u8 bytes[SNAP];
};

#define IN 1
#define OUT 2

struct {
	number(type, BPF_MAP_TYPE_RINGBUF);
	number(max_entries, 1 << 25);
} ring SEC(".maps");

/* Each frame is in one of these. Only one CPU writes a count. */
struct counts {
	u64 copied;
	u64 lost;    /* the ring was full */
	u64 ignored; /* not RDMA */
	u64 ignored_bytes;
};

struct {
	number(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	number(max_entries, 1);
	type(key, u32);
	type(value, struct counts);
} totals SEC(".maps");

/* So that bpf2go knows of it. */
struct record *named_to_bpf2go __attribute__((unused));

/* The first bytes of a frame, eight at a time; the last eight overlap those before. */
inline_always u16 copy(struct record *r, const struct frame *f)
{
	u32 n = f->data_end - f->data, last;

#pragma unroll
	for (u32 at = 0; at + 8 <= SNAP; at += 8) {
		if (f->data + at + 8 > f->data_end)
			break;
		U64(r->bytes, at) = U64(f->data, at);
	}
	if (n >= SNAP)
		return SNAP;
	last = n - 8;
	asm volatile("" : "+r"(last)); /* clang knows where data + n is, and the verifier does not */
	if (last > SNAP - 8 || f->data + last + 8 > f->data_end)
		return 0;
	U64(r->bytes, last) = U64(f->data, last);
	return n;
}

/* The reader looks into the ring when so much is in it, and else by its own clock. */
#define ATTENTION (1 << 16)

inline_always u64 attention(void)
{
	u64 held = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	return held >= ATTENTION && held - sizeof(struct record) - 8 < ATTENTION ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

inline_always void keep(const struct frame *f, u8 verdict, u8 direction, u16 type, u16 tag)
{
	u32 zero = 0;
	struct counts *sum = bpf_map_lookup_elem(&totals, &zero);
	struct record *r;

	if (!sum)
		return;
	if (verdict == NOT_RDMA) {
		sum->ignored++;
		sum->ignored_bytes += f->length;
		return;
	}
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		sum->lost++;
		return;
	}
	sum->copied++;
	r->time = bpf_ktime_get_ns();
	r->length = f->length;
	r->direction = direction;
	r->type = type;
	r->tag = tag;
	r->captured = copy(r, f);
	bpf_ringbuf_submit(r, attention());
}

/* The walk is a function that the verifier judges by itself, or it would follow each of its ways to the program's end. */
__attribute__((noinline)) int walk_xdp(struct xdp_md *ctx, u32 length)
{
	struct frame f = {.data = (void *)(u64)ctx->data, .data_end = (void *)(u64)ctx->data_end, .length = length};

	return walk(&f);
}

__attribute__((noinline)) int walk_skb(struct __sk_buff *skb, u32 length, u32 vlan)
{
	struct frame f = {.data = (void *)(u64)skb->data, .data_end = (void *)(u64)skb->data_end, .length = length, .vlan = vlan};

	return walk(&f);
}

inline_always int see_xdp(struct xdp_md *ctx, u32 length)
{
	struct frame f = {.data = (void *)(u64)ctx->data, .data_end = (void *)(u64)ctx->data_end, .length = length, .count = 1};
	struct packet p;
	u8 verdict = quick(&f, &p);

	if (unlikely(verdict == UNUSUAL))
		verdict = walk_xdp(ctx, f.length);
	keep(&f, verdict, IN, 0, 0);
	return XDP_PASS;
}

SEC("xdp")
int on_xdp(struct xdp_md *ctx) { return see_xdp(ctx, ctx->data_end - ctx->data); }

SEC("xdp.frags")
int on_xdp_frags(struct xdp_md *ctx) { return see_xdp(ctx, bpf_xdp_get_buff_len(ctx)); }

/* Headers of RDMA in tunnels are within so many bytes of a frame. */
#define LINEAR 256

inline_always int see_skb(struct __sk_buff *skb, u8 direction)
{
	struct frame f = {.count = 1};
	u32 linear = skb->len < LINEAR ? skb->len : LINEAR;
	u16 type = 0, tag = 0;
	u64 until = lease;
	struct packet p;
	u8 verdict;

	if (unlikely(until) && until < bpf_ktime_get_ns())
		return TC_ACT_UNSPEC;
	if (skb->data_end - skb->data < linear)
		bpf_skb_pull_data(skb, linear); /* when that fails there is less to see */
	f.data = (void *)(u64)skb->data;
	f.data_end = (void *)(u64)skb->data_end;
	f.length = skb->len;
	if (skb->vlan_present) {
		tag = skb->vlan_tci;
		type = be16(skb->vlan_proto);
		f.vlan = (tag & 0xfff) + 1;
		f.length += 4;
	}
	verdict = quick(&f, &p);
	if (unlikely(verdict == UNUSUAL))
		verdict = walk_skb(skb, f.length, f.vlan);
	keep(&f, verdict, direction, type, tag);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int on_ingress(struct __sk_buff *skb) { return see_skb(skb, IN); }

SEC("tc")
int on_egress(struct __sk_buff *skb) { return see_skb(skb, OUT); }
