-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS verdicts
(
    `capture_id` UUID COMMENT 'Capture that the connection was seen in' CODEC(ZSTD(1)),
    `connection_id` UInt64 COMMENT 'Connection: the same for both of its directions' CODEC(ZSTD(1)),
    `rule` LowCardinality(String) COMMENT 'Rule, by its ID in the catalogue' CODEC(ZSTD(1)),
    `severity` Enum8('notice' = 0, 'warning' = 1, 'error' = 2) COMMENT 'How much a divergence from the rule hurts' CODEC(ZSTD(1)),
    `diverges` UInt32 COMMENT 'Times that the connection diverged from it' CODEC(ZSTD(1)),
    `undetermined` UInt32 COMMENT 'Times that the capture could not tell' CODEC(ZSTD(1)),
    `conforms` UInt32 COMMENT 'Times that it was kept' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY capture_id
ORDER BY (capture_id, rule, connection_id)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'One rule a row that applied to a connection, and what came of it';
