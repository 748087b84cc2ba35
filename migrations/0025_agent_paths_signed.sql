-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE agent_paths
    MODIFY COLUMN `missing_psns` Int64 COMMENT 'PSNs that are missing where it was captured, since the interval before: negative when more came after all than went missing' CODEC(ZSTD(1)),
    MODIFY COLUMN `missing_acknowledged` Nullable(Int64) COMMENT 'Of these: acknowledged all the same, so the capture missed them, not the receiver' CODEC(ZSTD(1)),
    COMMENT COLUMN `first_psn` 'First PSN of the path since it began; where it begins, when the handshake was seen',
    COMMENT COLUMN `first_number` 'Number of the first packet on the interface, counted from the agent''s start; 0 when no packet of the path itself came in the interval, but for instance an ACK of it did';
