/* What the programs need of the kernel's interface, declared here so that nothing but clang's version decides what is
 * built: https://docs.kernel.org/bpf/ and include/uapi/linux/bpf.h say what each is. */
#ifndef ROCELENS_KERNEL_H
#define ROCELENS_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;

#define SEC(name) __attribute__((section(name), used))
#define inline_always static inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define be16(x) __builtin_bswap16(x)
#define be32(x) __builtin_bswap32(x)

#define number(name, value) int(*name)[value]
#define type(name, value) typeof(value) *name

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE 1024
#define BPF_NOEXIST 1
#define EEXIST 17

#define XDP_PASS 2
#define TC_ACT_UNSPEC (-1) /* also TCX_NEXT */

struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
	u32 napi_id;
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 data_meta;
	u64 flow_keys;
	u64 tstamp;
	u32 wire_len;
	u32 gso_segs;
	u64 sk;
	u32 gso_size;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static long (*bpf_skb_pull_data)(struct __sk_buff *skb, u32 len) = (void *)39;
static u64 (*bpf_jiffies64)(void) = (void *)118;
static long (*bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static u64 (*bpf_ktime_get_coarse_ns)(void) = (void *)160;
static u64 (*bpf_xdp_get_buff_len)(struct xdp_md *ctx) = (void *)188;

#endif
