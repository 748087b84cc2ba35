/* The programs that are measured: each packet has the next PSN of its connection, and with step_mask is another
 * connection's, in an order without a pattern. Only tests have these. */
#include "rocelens.c"

struct {
	number(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	number(max_entries, 2); /* of the programs that count by connection, and of the others */
	type(key, u32);
	type(value, u64);
} steps SEC(".maps");

const volatile u32 step_mask = 0; /* connections less one, of which there is a power of two */
const volatile u32 step_shift = 0;
const volatile u32 step_psn = 50; /* where the PSN stands */

inline_always u8 step(u8 *b, u8 *end, u32 which)
{
	u32 at = step_psn;
	u64 *n = bpf_map_lookup_elem(&steps, &which);

	if (!n || at > 64 || b + 72 > end)
		return 0;
	++*n;
	/* In one piece, as it is read: a processor waits where a load spans a store, and a NIC's stores are none. */
	*(u64 *)(b + 26) = ((u32)*n * 2654435761u & step_mask) | 2ull << 32;
	*(u32 *)(b + at) = be32((u32)(*n >> step_shift) & 0xffffff);
	return 1;
}

SEC("xdp")
int stepping(struct xdp_md *ctx)
{
	struct frame f = {.data = (void *)(u64)ctx->data, .data_end = (void *)(u64)ctx->data_end, .count = 1};

	if (!step(f.data, f.data_end, 0))
		return XDP_PASS;
	f.length = f.data_end - f.data;
	OBSERVE(&f, ctx, walk_xdp(ctx, f.length));
	return XDP_PASS;
}

SEC("xdp")
int stepping_baseline(struct xdp_md *ctx)
{
	u8 *b = (void *)(u64)ctx->data, *end = (void *)(u64)ctx->data_end;
	u32 other = 1;
	u64 *n;

	if (!step(b, end, 1) || *(u16 *)(b + 12) != be16(0x0800) || b[14] != 0x45 || b[23] != 17 || *(u16 *)(b + 36) == 0)
		return XDP_PASS;
	n = bpf_map_lookup_elem(&steps, &other);
	if (n)
		n[0] += 2;
	return XDP_PASS;
}

/* The least that counting by connection can take: a line of memory of each. */
SEC("xdp")
int stepping_lines(struct xdp_md *ctx)
{
	u8 *b = (void *)(u64)ctx->data, *end = (void *)(u64)ctx->data_end;
	struct bucket *line;
	u64 h;

	if (!step(b, end, 1) || *(u16 *)(b + 12) != be16(0x0800) || b[14] != 0x45 || b[23] != 17 || *(u16 *)(b + 36) == 0)
		return XDP_PASS;
	h = hash(U64(b, 26), 0);
	line = bucket_of(h);
	if (line)
		line->slot[way(h, 0)].packets++;
	return XDP_PASS;
}
