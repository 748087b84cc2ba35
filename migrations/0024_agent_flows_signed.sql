-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE agent_flows
    MODIFY COLUMN `missing_psns` Nullable(Int64) COMMENT 'PSNs that are missing where it was captured, since the interval before: negative when more came after all than went missing' CODEC(ZSTD(1)),
    MODIFY COLUMN `missing_acknowledged` Nullable(Int64) COMMENT 'Of these: acknowledged all the same, so the capture missed them, not the receiver' CODEC(ZSTD(1)),
    MODIFY COLUMN `retransmitted` Nullable(Int64) COMMENT 'Packets whose PSN had already been passed: the original was seen or is known lost. This and the next four are negative when a verdict of the interval before was taken back' CODEC(ZSTD(1)),
    MODIFY COLUMN `retransmitted_after_nak` Nullable(Int64) COMMENT 'Of these: after a NAK for a sequence error; for MetaRoCE after an ACK that showed a gap' CODEC(ZSTD(1)),
    MODIFY COLUMN `retransmitted_after_rnr` Nullable(Int64) COMMENT 'Of these: after an RNR NAK' CODEC(ZSTD(1)),
    MODIFY COLUMN `retransmitted_after_timeout` Nullable(Int64) COMMENT 'Of these: after silence' CODEC(ZSTD(1)),
    MODIFY COLUMN `out_of_order` Nullable(Int64) COMMENT 'Packets that came late but were not resent' CODEC(ZSTD(1)),
    COMMENT COLUMN `first_number` 'Number of the first packet on the interface, counted from the agent''s start; 0 when no packet of the flow itself came in the interval, but for instance an ACK of it did',
    COMMENT COLUMN `last_number` 'Number of the last packet on the interface, counted from the agent''s start; or 0',
    COMMENT COLUMN `first_psn` 'First PSN of the flow''s own requests, since it began',
    COMMENT COLUMN `source_ports` 'Distinct UDP source ports since it began, counted up to 64',
    COMMENT COLUMN `paths_seen` 'MetaRoCE: paths of which something was counted, and so rows of agent_paths',
    COMMENT COLUMN `streams_seen` 'MetaRoCE: streams of which something was counted';
