-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE agent_paths
    MODIFY COLUMN `plane_changes` Nullable(UInt64) COMMENT 'How often the plane changed; NULL, like re_paths, from the kernel tier when several CPUs saw packets of the path' CODEC(ZSTD(1)),
    MODIFY COLUMN `state` Nullable(Enum8('in use' = 0, 'failed' = 1, 'recovered' = 2)) COMMENT 'failed: a PROBE was the last packet of the path, and nobody acknowledged it; recovered: PROBEs were answered, or other packets followed; NULL from the kernel tier after a PROBE' CODEC(ZSTD(1)),
    MODIFY COLUMN `source_ports.first_number` Array(Nullable(UInt64)) COMMENT 'Number of the first packet of each source port; NULL from the kernel tier, which moreover names a port only when the path had no other' CODEC(ZSTD(1)),
    MODIFY COLUMN `re_paths` Nullable(UInt64) COMMENT 'How often the sender moved the path to another source port' CODEC(ZSTD(1)),
    MODIFY COLUMN `first_number` Nullable(UInt64) COMMENT 'Number of the first packet on the interface, counted from the agent''s start; 0 when no packet of the path itself came in the interval, but for instance an ACK of it did; NULL, like the next, from the kernel tier' CODEC(ZSTD(1)),
    MODIFY COLUMN `last_number` Nullable(UInt64) COMMENT 'Number of the last packet on the interface, counted from the agent''s start' CODEC(ZSTD(1)),
    MODIFY COLUMN `psn_gaps` Nullable(UInt64) COMMENT 'Runs of missing PSNs, filled later or not; NULL, like the next, from the kernel tier when several CPUs saw packets of the path' CODEC(ZSTD(1)),
    MODIFY COLUMN `missing_psns` Nullable(Int64) COMMENT 'PSNs that are missing where it was captured, since the interval before: negative when more came after all than went missing' CODEC(ZSTD(1)),
    MODIFY COLUMN `retransmitted_seen` Nullable(UInt64) COMMENT 'Of these: the original was captured, so it was lost behind this point or not at all; NULL, like the next three, from the kernel tier, whose retransmitted are those with the flag RTX' CODEC(ZSTD(1)),
    MODIFY COLUMN `retransmitted_moved` Nullable(UInt64) COMMENT 'Of these: bytes that were sent on another path before' CODEC(ZSTD(1)),
    MODIFY COLUMN `out_of_order` Nullable(UInt64) COMMENT 'Packets that came late but were not resent' CODEC(ZSTD(1)),
    MODIFY COLUMN `duplicates` Nullable(UInt64) COMMENT 'PSNs seen more than once, mirror copies aside; NULL from the kernel tier when a packet was older than what it remembers' CODEC(ZSTD(1)),
    MODIFY COLUMN `naks` Nullable(UInt64) COMMENT 'NAKs that refused a packet of the path' CODEC(ZSTD(1)),
    MODIFY COLUMN `rate_hint_unlimited` Nullable(UInt64) COMMENT 'ACKs that set no limit; NULL from the kernel tier' CODEC(ZSTD(1)),
    MODIFY COLUMN `lost` Nullable(Int64) ALIAS missing_psns - ifNull(missing_acknowledged, 0) COMMENT 'Missing PSNs that nobody acknowledged';
