-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE replays
    ADD COLUMN IF NOT EXISTS `lasting_ns` Nullable(UInt64) COMMENT 'Time from the first to the last packet of this direction, ns; NULL where it asks for nothing, and for MetaRoCE' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `timer_waits` Nullable(UInt64) COMMENT 'Times that the sender waited for its retransmission timer to run out' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `timer_wait_ns` Nullable(UInt64) COMMENT 'Time spent so, of lasting_ns' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `rnr_waits` Nullable(UInt64) COMMENT 'Times that the sender waited because an RNR NAK asked for it' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `rnr_wait_ns` Nullable(UInt64) COMMENT 'Time spent so, of lasting_ns' CODEC(ZSTD(1));
