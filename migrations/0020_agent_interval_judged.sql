-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE agent_intervals
    ADD COLUMN IF NOT EXISTS `judged` Nullable(UInt64) COMMENT 'Of decode_out: packets that replay held against the reference; NULL when it is off' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `divergences` UInt64 COMMENT 'Places that it found, undetermined ones included' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `divergence_rows` UInt64 COMMENT 'Rows made of these for agent_divergences' CODEC(ZSTD(1));
