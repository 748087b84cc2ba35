-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE replays
    ADD COLUMN IF NOT EXISTS `properties` Map(LowCardinality(String), String) COMMENT 'Traits of the connection''s ends that no rule forbids, such as go-back-N, or were measured, such as the interval of CNPs' CODEC(ZSTD(1));
