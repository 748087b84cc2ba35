-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE agent_flows
    MODIFY COLUMN `first_number` Nullable(UInt64) COMMENT 'Number of the first packet on the interface, counted from the agent''s start; 0 when no packet of the flow itself came in the interval, but for instance an ACK of it did; NULL, like the next, from the kernel tier' CODEC(ZSTD(1)),
    MODIFY COLUMN `last_number` Nullable(UInt64) COMMENT 'Number of the last packet on the interface, counted from the agent''s start; or 0' CODEC(ZSTD(1)),
    MODIFY COLUMN `mirror_copies` Nullable(UInt64) COMMENT 'Packets that the capture holds twice; NULL from the kernel tier, which cannot tell' CODEC(ZSTD(1));
