-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS replays
(
    `capture_id` UUID COMMENT 'Capture that the connection was seen in' CODEC(ZSTD(1)),
    `connection_id` UInt64 COMMENT 'Connection: the same for both of its directions' CODEC(ZSTD(1)),
    `sender` IPv6 COMMENT 'Who sends in this direction: IPv6 address, IPv4 address as ::ffff:a.b.c.d' CODEC(ZSTD(1)),
    `sender_qp` Nullable(UInt32) COMMENT 'Its QPN, or its connection id of MetaRoCE; NULL when nothing names it' CODEC(ZSTD(1)),
    `transport` Enum8('RoCE' = 0, 'MetaRoCE' = 1) COMMENT 'Which rules the connection was held against; MetaRoCE: those of profile mr0' CODEC(ZSTD(1)),
    `verdict` Enum8('conforms' = 0, 'diverges' = 1, 'undetermined' = 2) COMMENT 'Worst verdict of any rule about the connection, of either direction' CODEC(ZSTD(1)),
    `vantage` Enum8('unknown' = 0, 'near the requester' = 1, 'between the two' = 2, 'near the responder' = 3) COMMENT 'Where the connection was captured, by how its round trip divides' CODEC(ZSTD(1)),
    `one_way` UInt8 COMMENT '1 when the capture has no packet of the other direction' CODEC(ZSTD(1)),
    `packets` UInt64 COMMENT 'Packets of this direction, mirror copies aside' CODEC(ZSTD(1)),
    `missed_share` Nullable(Float64) COMMENT 'Share of the sender''s packets that the capture missed, 0 to 1, as far as its peer''s answers tell' CODEC(ZSTD(1)),
    `lost_before` UInt64 COMMENT 'Packets lost between the sender and the capture' CODEC(ZSTD(1)),
    `lost_after` UInt64 COMMENT 'Packets lost between the capture and the receiver' CODEC(ZSTD(1)),
    `resent_unknown` UInt64 COMMENT 'Times that the sender went back although nothing tells what was lost, or where' CODEC(ZSTD(1)),
    `missed` UInt64 COMMENT 'Packets that the receiver had and the capture has not' CODEC(ZSTD(1)),
    `to_receiver_min_ns` Nullable(UInt64) COMMENT 'Shortest time from a packet of this direction to its answer, as captured, ns: round trip between the capture and the receiver' CODEC(ZSTD(1)),
    `to_receiver_mean_ns` Nullable(UInt64) COMMENT 'Mean of it, ns' CODEC(ZSTD(1)),
    `to_receiver_max_ns` Nullable(UInt64) COMMENT 'Longest of it, ns' CODEC(ZSTD(1)),
    `to_sender_min_ns` Nullable(UInt64) COMMENT 'Shortest time from an answer to the packet that the sender sent for it, ns: round trip between the capture and the sender' CODEC(ZSTD(1)),
    `to_sender_mean_ns` Nullable(UInt64) COMMENT 'Mean of it, ns' CODEC(ZSTD(1)),
    `to_sender_max_ns` Nullable(UInt64) COMMENT 'Longest of it, ns' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY capture_id
ORDER BY (capture_id, connection_id, sender)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'One direction of a connection a row, held against the reference transport';
