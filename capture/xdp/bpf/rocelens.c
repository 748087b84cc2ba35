/* Counts RDMA packets by connection, for rocelens-agent. The programs look at frames and change nothing: they always let
 * them go on. */
#include "transport.h"
#include "usual.h"

const char licence[] SEC("license") = "Apache-2.0";

/* A program of clsact outlives its agent, and then does nothing from this time on: ns, monotonic. 0: for ever. */
volatile u64 lease;

inline_always void leave(const struct frame *f, struct ledger *sum, u8 verdict)
{
	if (verdict >= REASONS)
		return;
	sum->other[verdict] += f->count;
	sum->other_bytes += f->length;
}

inline_always void judge(const struct frame *f, const struct packet *p, struct ledger *sum, u32 now_of, u32 cpu)
{
	struct transport t = {};
	u8 verdict;

	if (unlikely(f->segment)) { /* each is to get these headers */
		u32 more = f->length > p->at ? (f->length - p->at - 1) / f->segment : 0;

		sum->other[SEGMENTED] += 1 + more;
		sum->other_bytes += f->length + more * p->at;
		return;
	}
	verdict = likely(p->protocol != METAROCE) ? roce(f, p, &t) : metaroce(f, p, &t);
	if (likely(verdict == FOUND))
		verdict = account(f, p, &t, sum, now_of, cpu);
	if (likely(verdict == FOUND)) {
		sum->rdma++;
		sum->rdma_bytes += f->length;
	} else {
		leave(f, sum, verdict);
	}
}

/* Takes the frame's place from the context anew: pointers of which the verifier knows nothing, whatever was looked at
 * before, so that the ways that led here meet. */
#define REREAD(f, ctx)                                                            \
	do {                                                                      \
		(f)->data = (void *)(u64) * (volatile u32 *)&(ctx)->data;         \
		(f)->data_end = (void *)(u64) * (volatile u32 *)&(ctx)->data_end; \
	} while (0)

/* Counts the packet. The walk is a function that the verifier judges by itself, or it would follow each of its ways to
 * the program's end. */
#define OBSERVE(f, ctx, walk_on)                                                         \
	do {                                                                            \
		u32 now_of = generation, slot = now_of & (GENERATIONS - 1);             \
		struct ledger *sum = bpf_map_lookup_elem(&totals, &slot);               \
		u32 cpu = bpf_get_smp_processor_id();                                   \
		struct packet p;                                                        \
		u8 verdict;                                                             \
                                                                                        \
		if (!sum)                                                               \
			break;                                                          \
		if (likely(usual(f, now_of, cpu))) {                                    \
			sum->rdma++;                                                    \
			sum->rdma_bytes += (f)->length;                                 \
			break;                                                          \
		}                                                                       \
		REREAD(f, ctx);                                                         \
		verdict = quick(f, &p);                                                 \
		if (unlikely(verdict == UNUSUAL)) {                                     \
			struct walk *w;                                                 \
                                                                                        \
			verdict = walk_on;                                              \
			w = this_walk();                                                \
			if (verdict != FOUND || !w) {                                   \
				leave(f, sum, verdict);                                 \
				break;                                                  \
			}                                                               \
			p = w->packet;                                                  \
		}                                                                       \
		judge(f, &p, sum, now_of, cpu);                                         \
	} while (0)

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

/* What the kernel's ticks are in time: set by tell_time, which no packet runs. */
const volatile u8 has_coarse_clock = 1;
volatile u64 clock_ticks, clock_ns;

SEC("xdp")
int tell_time(void *ctx)
{
	(void)ctx;
	clock_ticks = bpf_jiffies64();
	clock_ns = has_coarse_clock ? bpf_ktime_get_coarse_ns() : bpf_ktime_get_ns();
	return XDP_PASS;
}

SEC("xdp")
int on_xdp(struct xdp_md *ctx)
{
	struct frame f = {.data = (void *)(u64)ctx->data, .data_end = (void *)(u64)ctx->data_end, .count = 1};

	f.length = f.data_end - f.data;
	OBSERVE(&f, ctx, walk_xdp(ctx, f.length));
	return XDP_PASS;
}

SEC("xdp.frags")
int on_xdp_frags(struct xdp_md *ctx)
{
	struct frame f = {.data = (void *)(u64)ctx->data, .data_end = (void *)(u64)ctx->data_end, .count = 1};

	f.length = bpf_xdp_get_buff_len(ctx);
	OBSERVE(&f, ctx, walk_xdp(ctx, f.length));
	return XDP_PASS;
}

/* Headers of RDMA in tunnels are within so many bytes of a frame. */
#define LINEAR 256

SEC("tc")
int on_tc(struct __sk_buff *ctx)
{
	struct frame f = {.count = 1};
	u32 linear = ctx->len < LINEAR ? ctx->len : LINEAR;
	u64 until = lease;

	if (unlikely(until) && until < bpf_ktime_get_ns())
		return TC_ACT_UNSPEC;
	if (ctx->data_end - ctx->data < linear)
		bpf_skb_pull_data(ctx, linear); /* when that fails there is less to see */
	f.data = (void *)(u64)ctx->data;
	f.data_end = (void *)(u64)ctx->data_end;
	f.length = ctx->len;
	if (ctx->vlan_present) {
		f.vlan = (ctx->vlan_tci & 0xfff) + 1;
		f.length += 4;
	}
	f.segment = ctx->gso_size;
	if (unlikely(f.segment)) /* what a virtual machine sends has no gso_segs */
		f.count = ctx->gso_segs ? ctx->gso_segs : (f.length - 1) / f.segment + 1;
	OBSERVE(&f, ctx, walk_skb(ctx, f.length, f.vlan));
	return TC_ACT_UNSPEC;
}
