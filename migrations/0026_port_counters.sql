-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS port_counters
(
    `agent_id` UUID COMMENT 'Agent that read it' CODEC(ZSTD(1)),
    `host` LowCardinality(String) COMMENT 'Name of the agent''s host' CODEC(ZSTD(1)),
    `interface` LowCardinality(String) COMMENT 'Network interface that it belongs to, or that uses the RDMA port' CODEC(ZSTD(1)),
    `interval_start` DateTime64(9, 'UTC') COMMENT 'Begin of the interval; the agent''s other tables have the same' CODEC(Delta(8), ZSTD(1)),
    `interval_end` DateTime64(9, 'UTC') COMMENT 'End of the interval, when it was read' CODEC(Delta(8), ZSTD(1)),
    `missed` UInt64 COMMENT 'Packets of this interface that the capture lost in the interval' CODEC(ZSTD(1)),
    `batch` UUID COMMENT 'Insert that the row came with; an agent finds by it what has arrived' CODEC(ZSTD(1)),
    `source` Enum8('port' = 0, 'hardware' = 1, 'interface' = 2, 'driver' = 3, 'setting' = 4) COMMENT 'port: counters of the RDMA port that InfiniBand defines; hardware: of the NIC; interface: statistics of the network interface; driver: what ethtool -S shows; setting: no counter' CODEC(ZSTD(1)),
    `device` LowCardinality(String) COMMENT 'RDMA device, for instance mlx5_0; empty for what belongs to the network interface' CODEC(ZSTD(1)),
    `port` UInt32 COMMENT 'Port of that device, from 1; 0 for what belongs to all of it, or to the network interface' CODEC(ZSTD(1)),
    `name` LowCardinality(String) COMMENT 'As the kernel or driver spells it, for instance np_cnp_sent' CODEC(ZSTD(1)),
    `value` Nullable(UInt64) COMMENT 'The counter at the end of the interval; NULL for a setting that is no number' CODEC(ZSTD(1)),
    `delta` Nullable(UInt64) COMMENT 'What it counted in the interval; NULL at the agent''s start, when it had not been there, and when it went back, since a reset and a wrap cannot be told apart' CODEC(ZSTD(1)),
    `setting` LowCardinality(String) COMMENT 'The setting as it is written; empty for counters' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(interval_end)
ORDER BY (interval_end, agent_id, interface, source, device, port, name)
TTL toDateTime(interval_end) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'A counter or setting of a port in one interval of an agent a row: what the NIC and the kernel count beside the packets';
