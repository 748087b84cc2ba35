-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS divergences
(
    `capture_id` UUID COMMENT 'Capture that it was found in' CODEC(ZSTD(1)),
    `connection_id` UInt64 COMMENT 'Connection: the same for both of its directions, in flows and replays, too' CODEC(ZSTD(1)),
    `rule` LowCardinality(String) COMMENT 'Rule that the wire diverges from, by its ID in the catalogue' CODEC(ZSTD(1)),
    `severity` Enum8('notice' = 0, 'warning' = 1, 'error' = 2) COMMENT 'How much a divergence from the rule hurts' CODEC(ZSTD(1)),
    `verdict` Enum8('diverges' = 1, 'undetermined' = 2) COMMENT 'diverges: nothing that was lost, late, doubled or missed explains it; undetermined: something may' CODEC(ZSTD(1)),
    `address` IPv6 COMMENT 'Who did it: IPv6 address, IPv4 address as ::ffff:a.b.c.d' CODEC(ZSTD(1)),
    `qp` Nullable(UInt32) COMMENT 'Its QPN, or its connection id of MetaRoCE; NULL when nothing names it' CODEC(ZSTD(1)),
    `path_id` Nullable(UInt8) COMMENT 'Path of MetaRoCE; NULL where a path has no part in it' CODEC(ZSTD(1)),
    `time` Nullable(DateTime64(9, 'UTC')) COMMENT 'Time of the packet at which the verdict was reached' CODEC(ZSTD(1)),
    `packets` Array(UInt64) COMMENT 'Numbers of the packets that prove it, in the order in which they make the point' CODEC(ZSTD(1)),
    `expected` String COMMENT 'What the reference would have done' CODEC(ZSTD(1)),
    `seen` String COMMENT 'What the wire shows' CODEC(ZSTD(1)),
    `sentence` String COMMENT 'Both in one sentence, with the numbers' CODEC(ZSTD(1)),
    `source` LowCardinality(String) COMMENT 'Clause that decides it: IBTA section, RFC, rule of profile mr0, paper' CODEC(ZSTD(1)),
    `next` LowCardinality(String) COMMENT 'What to look at next' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY capture_id
ORDER BY (capture_id, rule, connection_id)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'One place a row where a connection diverges from the reference transport, or may: at most 16 of a rule and connection, verdicts counts all';
