-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE agents
    ADD COLUMN IF NOT EXISTS `triggers` UInt64 COMMENT 'Events that its flight recorder found since the start, each once',
    ADD COLUMN IF NOT EXISTS `last_trigger` Nullable(DateTime64(9, 'UTC')) COMMENT 'When the latest of these happened; NULL before the first',
    ADD COLUMN IF NOT EXISTS `last_trigger_event` String COMMENT 'What it was, in one sentence',
    ADD COLUMN IF NOT EXISTS `records_waiting` UInt64 COMMENT 'Records on its disk that are not uploaded',
    ADD COLUMN IF NOT EXISTS `records_lost` UInt64 COMMENT 'Records that could not be kept since the start';
