-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS agent_intervals
(
    `agent_id` UUID COMMENT 'Agent that keeps the account' CODEC(ZSTD(1)),
    `host` LowCardinality(String) COMMENT 'Name of the agent''s host',
    `interface` LowCardinality(String) COMMENT 'Network interface that the account is about',
    `interval_start` DateTime64(9, 'UTC') COMMENT 'Begin of the interval' CODEC(Delta(8), ZSTD(1)),
    `interval_end` DateTime64(9, 'UTC') COMMENT 'End of the interval' CODEC(Delta(8), ZSTD(1)),
    `missed` UInt64 COMMENT 'Packets of this interface that the capture lost in the interval' CODEC(ZSTD(1)),
    `batch` UUID COMMENT 'Insert that the row came with; an agent finds by it what has arrived' CODEC(ZSTD(1)),
    `run` UUID COMMENT 'Process of the agent: another one after each start' CODEC(ZSTD(1)),
    `tier` LowCardinality(String) COMMENT 'How it captured',
    `up` UInt8 COMMENT 'Whether the interface could be captured on at the end of the interval',
    `interface_packets` Nullable(UInt64) COMMENT 'Packets that the interface itself counted, both directions; NULL when it cannot be asked' CODEC(ZSTD(1)),
    `interface_dropped` Nullable(UInt64) COMMENT 'Packets that the interface or its driver lost before anybody could capture them' CODEC(ZSTD(1)),
    `source_in` UInt64 COMMENT 'Packets that reached the capture' CODEC(ZSTD(1)),
    `source_out` UInt64 COMMENT 'Packets that it handed on' CODEC(ZSTD(1)),
    `source_held` UInt64 COMMENT 'Packets that lay in its ring at the end of the interval' CODEC(ZSTD(1)),
    `decode_out` UInt64 COMMENT 'Packets of RDMA: source_out without what is not, or cannot be decoded' CODEC(ZSTD(1)),
    `track_out` UInt64 COMMENT 'Packets that the rows of agent_flows count' CODEC(ZSTD(1)),
    `spool_out` UInt64 COMMENT 'Packets of the rows that are safe on the agent''s disk' CODEC(ZSTD(1)),
    `drops` Map(LowCardinality(String), UInt64) COMMENT 'Packets that did not get on, by stage and reason, for instance source: ring full' CODEC(ZSTD(1)),
    `bytes` UInt64 COMMENT 'Bytes on the wire of source_out' CODEC(ZSTD(1)),
    `rdma_bytes` UInt64 COMMENT 'Bytes on the wire of decode_out' CODEC(ZSTD(1)),
    `flow_rows` UInt64 COMMENT 'Rows made for agent_flows' CODEC(ZSTD(1)),
    `path_rows` UInt64 COMMENT 'Rows made for agent_paths' CODEC(ZSTD(1)),
    `spooled_rows` UInt64 COMMENT 'Of both: rows that are safe on the agent''s disk' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(interval_end)
ORDER BY (interval_end, agent_id, interface)
TTL toDateTime(interval_end) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'An interval of a network interface of an agent a row: what came in, what went on, and where the rest was lost';
