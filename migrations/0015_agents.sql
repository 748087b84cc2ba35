-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS agents
(
    `agent_id` UUID COMMENT 'Agent: drawn when it first starts, and kept in its state directory',
    `heartbeat` DateTime64(9, 'UTC') COMMENT 'When the agent said this of itself; the newest row of an agent is the one that counts',
    `batch` UUID COMMENT 'Insert that the row came with',
    `run` UUID COMMENT 'Process of the agent: another one after each start',
    `started` DateTime64(9, 'UTC') COMMENT 'When that process started',
    `host` LowCardinality(String) COMMENT 'Name of its host',
    `version` LowCardinality(String) COMMENT 'Release of the agent',
    `kernel` LowCardinality(String) COMMENT 'Release of the host''s kernel',
    `architecture` LowCardinality(String) COMMENT 'For instance amd64',
    `interval_ns` UInt64 COMMENT 'How often it reports, ns',
    `interfaces` Array(String) COMMENT 'Network interfaces that it watches',
    `tiers` Array(String) COMMENT 'How it captures on each of them',
    `up` Array(UInt8) COMMENT 'Whether each of them can be captured on: 0 while it is down or gone',
    `problem` String COMMENT 'What is wrong, in one sentence; empty when all is well',
    `packets_per_second` Float64 COMMENT 'Frames seen on all interfaces, over the last interval',
    `rdma_packets_per_second` Float64 COMMENT 'Of these: packets of RDMA',
    `bits_per_second` Float64 COMMENT 'Bits on the wire of all frames seen, over the last interval',
    `drops` Map(LowCardinality(String), UInt64) COMMENT 'Packets lost since the start, by stage and reason',
    `spool_rows` UInt64 COMMENT 'Rows that wait on its disk',
    `spool_batches` UInt64 COMMENT 'Batches of rows that wait on its disk',
    `spool_bytes` UInt64 COMMENT 'What its spool takes on disk',
    `spool_limit` UInt64 COMMENT 'What it may take',
    `spool_torn_bytes` UInt64 COMMENT 'Cut off behind the last batch when it started: the process before was killed while it wrote',
    `spool_damaged` UInt64 COMMENT 'Batches that its disk damaged',
    `lag_ns` UInt64 COMMENT 'Age of the oldest batch that waits, ns; 0 when none does',
    `shipped_rows` UInt64 COMMENT 'Rows that the database confirmed, since the start',
    `refused_rows` UInt64 COMMENT 'Rows that could not be stored, since the start',
    `failures` UInt64 COMMENT 'Tries to reach the database, or to store there, that failed since the start'
)
ENGINE = ReplacingMergeTree(heartbeat)
ORDER BY agent_id
SETTINGS non_replicated_deduplication_window = 100000
COMMENT 'An agent and how it is a row: the newest of its heartbeats';
