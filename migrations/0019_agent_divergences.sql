-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS agent_divergences
(
    `agent_id` UUID COMMENT 'Agent that found it' CODEC(ZSTD(1)),
    `host` LowCardinality(String) COMMENT 'Name of the agent''s host',
    `interface` LowCardinality(String) COMMENT 'Network interface that it was seen on',
    `interval_start` DateTime64(9, 'UTC') COMMENT 'Begin of the interval that it was found in' CODEC(Delta(8), ZSTD(1)),
    `interval_end` DateTime64(9, 'UTC') COMMENT 'End of the interval' CODEC(Delta(8), ZSTD(1)),
    `missed` UInt64 COMMENT 'Packets of this interface that the capture lost in the interval' CODEC(ZSTD(1)),
    `batch` UUID COMMENT 'Insert that the row came with; an agent finds by it what has arrived' CODEC(ZSTD(1)),
    `connection_id` UInt64 COMMENT 'Connection: the same for both of its directions, in agent_flows, too' CODEC(ZSTD(1)),
    `rule` LowCardinality(String) COMMENT 'Rule that the wire diverges from, by its ID in the catalogue' CODEC(ZSTD(1)),
    `severity` Enum8('notice' = 0, 'warning' = 1, 'error' = 2) COMMENT 'How much a divergence from the rule hurts' CODEC(ZSTD(1)),
    `verdict` Enum8('diverges' = 1, 'undetermined' = 2) COMMENT 'diverges: nothing that was lost, late, doubled or missed explains it; undetermined: something may' CODEC(ZSTD(1)),
    `address` IPv6 COMMENT 'Who did it: IPv6 address, IPv4 address as ::ffff:a.b.c.d' CODEC(ZSTD(1)),
    `qp` Nullable(UInt32) COMMENT 'Its QPN, or its connection id of MetaRoCE; NULL when nothing names it' CODEC(ZSTD(1)),
    `path_id` Nullable(UInt8) COMMENT 'Path of MetaRoCE; NULL where a path has no part in it' CODEC(ZSTD(1)),
    `time` Nullable(DateTime64(9, 'UTC')) COMMENT 'Time of the packet at which the verdict was reached' CODEC(ZSTD(1)),
    `packets` Array(UInt64) COMMENT 'Numbers of the packets that prove it, counted from the start of the agent, as comments in what the flight recorder writes name them' CODEC(ZSTD(1)),
    `expected` String COMMENT 'What the reference would have done' CODEC(ZSTD(1)),
    `seen` String COMMENT 'What the wire shows' CODEC(ZSTD(1)),
    `sentence` String COMMENT 'Both in one sentence, with the numbers' CODEC(ZSTD(1)),
    `source` LowCardinality(String) COMMENT 'Clause that decides it: IBTA section, RFC, rule of profile mr0, paper' CODEC(ZSTD(1)),
    `next` LowCardinality(String) COMMENT 'What to look at next' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(interval_end)
ORDER BY (interval_end, agent_id, interface, rule)
TTL toDateTime(interval_end) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'One place a row where a connection that an agent watches diverges from the reference transport, or may';
