-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS streams
(
    `capture_id` UUID COMMENT 'Capture that the stream was seen in' CODEC(ZSTD(1)),
    `flow_id` UInt64 COMMENT 'Row of the table flows that the stream belongs to: one direction of a MetaRoCE connection' CODEC(ZSTD(1)),
    `connection_id` UInt64 COMMENT 'The same for both directions of a connection once they are paired' CODEC(ZSTD(1)),
    `source` IPv6 COMMENT 'Sender: IPv6 address, IPv4 address as ::ffff:a.b.c.d' CODEC(ZSTD(1)),
    `destination` IPv6 COMMENT 'Receiver, like source' CODEC(ZSTD(1)),
    `destination_qp` UInt32 COMMENT 'dest_conn_id, the connection id that the receiver chose' CODEC(ZSTD(1)),
    `stream_id` UInt16 COMMENT 'The stream' CODEC(ZSTD(1)),
    `messages` UInt64 COMMENT 'Messages of which at least one packet was captured' CODEC(ZSTD(1)),
    `writes` UInt64 COMMENT 'Of these: WRITEs' CODEC(ZSTD(1)),
    `sends` UInt64 COMMENT 'Of these: SENDs' CODEC(ZSTD(1)),
    `reads` UInt64 COMMENT 'Of these: READs' CODEC(ZSTD(1)),
    `atomics` UInt64 COMMENT 'Of these: atomic operations' CODEC(ZSTD(1)),
    `complete` Nullable(UInt64) COMMENT 'Messages of which all bytes were captured and acknowledged; NULL while the other direction is unknown' CODEC(ZSTD(1)),
    `first_msn` Nullable(UInt32) COMMENT 'Number of the first message; messages are handed to the application in this order' CODEC(ZSTD(1)),
    `last_msn` Nullable(UInt32) COMMENT 'Number of the last message' CODEC(ZSTD(1)),
    `first_time` Nullable(DateTime64(9, 'UTC')) COMMENT 'Time of the first packet; NULL when the capture has no times' CODEC(ZSTD(1)),
    `last_time` Nullable(DateTime64(9, 'UTC')) COMMENT 'Time of the last packet' CODEC(ZSTD(1)),
    `first_number` UInt64 COMMENT 'Number of the first packet in the capture' CODEC(ZSTD(1)),
    `last_number` UInt64 COMMENT 'Number of the last packet in the capture' CODEC(ZSTD(1)),
    `packets` UInt64 COMMENT 'Packets, mirror copies aside' CODEC(ZSTD(1)),
    `payload_bytes` UInt64 COMMENT 'Payload, resent bytes included' CODEC(ZSTD(1)),
    `goodput_bytes` UInt64 COMMENT 'Payload without what had been captured before' CODEC(ZSTD(1)),
    `response_bytes` UInt64 COMMENT 'Of goodput_bytes: answers to READs of the other direction' CODEC(ZSTD(1)),
    `retransmitted` UInt64 COMMENT 'Packets that were sent again' CODEC(ZSTD(1)),
    `naks` UInt64 COMMENT 'NAKs that refused a message of the stream' CODEC(ZSTD(1)),
    `latency_samples` UInt64 COMMENT 'Messages that a completion latency could be measured of: from their first packet to the ACK of their last byte' CODEC(ZSTD(1)),
    `latency_min_ns` Nullable(UInt64) COMMENT 'Shortest completion latency, ns; NULL, like the next five, without a sample' CODEC(ZSTD(1)),
    `latency_mean_ns` Nullable(UInt64) COMMENT 'Mean completion latency, ns' CODEC(ZSTD(1)),
    `latency_p50_ns` Nullable(UInt64) COMMENT 'Median completion latency, ns; like the other quantiles right to 1/16' CODEC(ZSTD(1)),
    `latency_p90_ns` Nullable(UInt64) COMMENT 'Nine of ten messages took no longer, ns' CODEC(ZSTD(1)),
    `latency_p99_ns` Nullable(UInt64) COMMENT '99 of 100 messages took no longer, ns' CODEC(ZSTD(1)),
    `latency_max_ns` Nullable(UInt64) COMMENT 'Longest completion latency, ns' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY capture_id
ORDER BY (capture_id, flow_id, stream_id)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'One stream of one direction of a MetaRoCE connection a row';
