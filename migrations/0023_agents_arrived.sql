-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE agents ADD COLUMN IF NOT EXISTS `arrived` DateTime64(9, 'UTC') DEFAULT now64(9) COMMENT 'When the database got the row, by its own clock: whether an agent is silent does not depend on the agent''s' AFTER heartbeat;
