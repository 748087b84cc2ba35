-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS agent_triggers
(
    `agent_id` UUID COMMENT 'Agent whose flight recorder was triggered' CODEC(ZSTD(1)),
    `host` LowCardinality(String) COMMENT 'Name of the agent''s host',
    `interface` LowCardinality(String) COMMENT 'Network interface that it happened on',
    `interval_start` DateTime64(9, 'UTC') COMMENT 'When it happened, as time' CODEC(Delta(8), ZSTD(1)),
    `interval_end` DateTime64(9, 'UTC') COMMENT 'When that became of it which the row says' CODEC(Delta(8), ZSTD(1)),
    `missed` UInt64 COMMENT 'Always 0: the record says what the capture lost meanwhile' CODEC(ZSTD(1)),
    `batch` UUID COMMENT 'Insert that the row came with; an agent finds by it what has arrived' CODEC(ZSTD(1)),
    `event_id` UUID COMMENT 'Event: all rows of it have the same' CODEC(ZSTD(1)),
    `time` DateTime64(9, 'UTC') COMMENT 'When it happened' CODEC(Delta(8), ZSTD(1)),
    `kind` LowCardinality(String) COMMENT 'divergence, NAK burst, retransmission, CE marks, throughput drop, path failure, signal or request',
    `rule` LowCardinality(String) COMMENT 'Rule of replay, by its ID in the catalogue; empty for other kinds',
    `connection_id` UInt64 COMMENT 'Connection that it happened to, as in agent_flows; 0 when it is about none' CODEC(ZSTD(1)),
    `sentence` String COMMENT 'What happened, in one sentence' CODEC(ZSTD(1)),
    `fate` Enum8('recording' = 0, 'not recorded' = 1, 'recorded' = 2, 'uploaded' = 3, 'lost' = 4) COMMENT 'What has become of it; an event has a row for each, and the greatest is the latest',
    `why` String COMMENT 'Why it was not recorded, or is lost; otherwise empty' CODEC(ZSTD(1)),
    `record` String COMMENT 'File of the record, without its ending; empty while there is none' CODEC(ZSTD(1)),
    `packets` UInt64 COMMENT 'Packets in the record' CODEC(ZSTD(1)),
    `capture_id` Nullable(UUID) COMMENT 'Capture that the record has become; NULL while it has not' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(interval_end)
ORDER BY (interval_end, agent_id, event_id)
TTL toDateTime(interval_end) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1
COMMENT 'What has become of an event that triggered the flight recorder of an agent, a row for each step';
