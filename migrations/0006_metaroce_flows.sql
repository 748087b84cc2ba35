-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE flows
    ADD COLUMN IF NOT EXISTS `profile` LowCardinality(String) COMMENT 'MetaRoCE wire profile, for instance mr0; empty for other protocols' AFTER `malformed`,
    ADD COLUMN IF NOT EXISTS `handshake` LowCardinality(String) COMMENT 'MetaRoCE: how setting the connection up went: unseen, requested, accepted, rejected; empty for other protocols' AFTER `profile`,
    ADD COLUMN IF NOT EXISTS `connection_requests` Nullable(UInt64) COMMENT 'MetaRoCE CONN_REQ packets in this direction, repetitions included' AFTER `handshake`,
    ADD COLUMN IF NOT EXISTS `accept_time_ns` Nullable(UInt64) COMMENT 'MetaRoCE: from the first CONN_REQ to the CONN_REP, ns; of the direction that asked' AFTER `connection_requests`,
    ADD COLUMN IF NOT EXISTS `reject_reason` LowCardinality(String) COMMENT 'MetaRoCE: why the connection was refused; empty when it was not' AFTER `accept_time_ns`,
    ADD COLUMN IF NOT EXISTS `disconnect_reason` LowCardinality(String) COMMENT 'MetaRoCE: why the sender ended the connection; empty when it was not seen to' AFTER `reject_reason`,
    ADD COLUMN IF NOT EXISTS `declared_paths` Nullable(UInt64) COMMENT 'MetaRoCE: paths that the sender said it would use; NULL, like the next six, when the handshake was not seen' AFTER `disconnect_reason`,
    ADD COLUMN IF NOT EXISTS `declared_planes` Nullable(UInt64) COMMENT 'MetaRoCE: planes that the sender said it has' AFTER `declared_paths`,
    ADD COLUMN IF NOT EXISTS `declared_mtu` Nullable(UInt64) COMMENT 'MetaRoCE: largest payload that the sender takes, bytes' AFTER `declared_planes`,
    ADD COLUMN IF NOT EXISTS `link_rate_mbps` Nullable(UInt64) COMMENT 'MetaRoCE: inbound rate of the sender, Mbit/s' AFTER `declared_mtu`,
    ADD COLUMN IF NOT EXISTS `initial_psn` Nullable(UInt64) COMMENT 'MetaRoCE: first PSN of path 0; path i begins i times 2^20 later' AFTER `link_rate_mbps`,
    ADD COLUMN IF NOT EXISTS `declared_streams` Nullable(UInt64) COMMENT 'MetaRoCE: streams that the sender takes' AFTER `initial_psn`,
    ADD COLUMN IF NOT EXISTS `max_window` Nullable(UInt64) COMMENT 'MetaRoCE: packets in flight a path that the sender can track' AFTER `declared_streams`,
    ADD COLUMN IF NOT EXISTS `paths_seen` Nullable(UInt64) COMMENT 'MetaRoCE: rows of the table paths that belong to the flow' AFTER `max_window`,
    ADD COLUMN IF NOT EXISTS `streams_seen` Nullable(UInt64) COMMENT 'MetaRoCE: rows of the table streams that belong to the flow' AFTER `paths_seen`,
    ADD COLUMN IF NOT EXISTS `untracked_stream_packets` Nullable(UInt64) COMMENT 'MetaRoCE: packets of streams beyond the limit of 1,024 a flow, which have no row' AFTER `streams_seen`,
    ADD COLUMN IF NOT EXISTS `probes` Nullable(UInt64) COMMENT 'MetaRoCE PROBE packets' AFTER `untracked_stream_packets`,
    ADD COLUMN IF NOT EXISTS `rate_hint_last_mbps` Nullable(UInt64) COMMENT 'MetaRoCE: latest rate that the receiver granted, Mbit/s; NULL, like the next two, when it set none' AFTER `probes`,
    ADD COLUMN IF NOT EXISTS `rate_hint_min_mbps` Nullable(UInt64) COMMENT 'MetaRoCE: lowest of them, Mbit/s' AFTER `rate_hint_last_mbps`,
    ADD COLUMN IF NOT EXISTS `rate_hint_max_mbps` Nullable(UInt64) COMMENT 'MetaRoCE: highest of them, Mbit/s' AFTER `rate_hint_min_mbps`,
    ADD COLUMN IF NOT EXISTS `rate_hint_unlimited` Nullable(UInt64) COMMENT 'MetaRoCE: ACKs that set no limit' AFTER `rate_hint_max_mbps`;
