/* Gives packets that are RDMA, or may be, to the AF_XDP sockets of rocelens-agent, which takes them away from the kernel:
 * for mirror ports only. All else goes on. */
#include "../../xdp/bpf/walk.h"

const char licence[] SEC("license") = "Apache-2.0";

static long (*bpf_redirect_map)(void *map, u64 key, u64 otherwise) = (void *)51;
static long (*bpf_xdp_adjust_meta)(struct xdp_md *ctx, int delta) = (void *)54;

#define BPF_MAP_TYPE_XSKMAP 17
#define XDP_REDIRECT 4

/* By queue. */
struct {
	number(type, BPF_MAP_TYPE_XSKMAP);
	number(max_entries, 256);
	type(key, u32);
	type(value, u32);
} sockets SEC(".maps");

/* Each frame is in one of these. Only one CPU writes a count. */
struct counts {
	u64 redirected;
	u64 lost;    /* to be seen by nobody but the kernel: no socket, or no room for the time */
	u64 ignored; /* not RDMA */
	u64 ignored_bytes;
};

struct {
	number(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	number(max_entries, 1);
	type(key, u32);
	type(value, struct counts);
} totals SEC(".maps");

/* The walk is a function that the verifier judges by itself, or it would follow each of its ways to the program's end. */
__attribute__((noinline)) int walk_xdp(struct xdp_md *ctx, u32 length)
{
	struct frame f = {.data = (void *)(u64)ctx->data, .data_end = (void *)(u64)ctx->data_end, .length = length};

	return walk(&f);
}

/* Writes the time before the frame, ns, monotonic. */
inline_always int stamp(struct xdp_md *ctx)
{
	u64 *time;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*time)))
		return 0;
	time = (void *)(u64)ctx->data_meta;
	if ((void *)(time + 1) > (void *)(u64)ctx->data)
		return 0;
	*time = bpf_ktime_get_ns();
	return 1;
}

inline_always int redirect(struct xdp_md *ctx, u32 length)
{
	struct frame f = {.data = (void *)(u64)ctx->data, .data_end = (void *)(u64)ctx->data_end, .length = length, .count = 1};
	u32 zero = 0;
	struct counts *sum = bpf_map_lookup_elem(&totals, &zero);
	struct packet p;
	u8 verdict;

	if (!sum)
		return XDP_PASS;
	verdict = quick(&f, &p);
	if (unlikely(verdict == UNUSUAL))
		verdict = walk_xdp(ctx, length);
	if (verdict == NOT_RDMA) {
		sum->ignored++;
		sum->ignored_bytes += length;
		return XDP_PASS;
	}
	if (stamp(ctx) && bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS) == XDP_REDIRECT) {
		sum->redirected++;
		return XDP_REDIRECT;
	}
	sum->lost++;
	return XDP_PASS;
}

SEC("xdp")
int on_xdp(struct xdp_md *ctx) { return redirect(ctx, ctx->data_end - ctx->data); }

SEC("xdp.frags")
int on_xdp_frags(struct xdp_md *ctx) { return redirect(ctx, bpf_xdp_get_buff_len(ctx)); }
