-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS captures
(
    `id` UUID COMMENT 'The capture; capture_id in the other tables',
    `version` UInt64 COMMENT 'Grows with each change of the row; the highest one counts',
    `name` String COMMENT 'File name as uploaded',
    `size` UInt64 COMMENT 'Bytes of the uploaded file',
    `sha256` String COMMENT 'SHA-256 of the uploaded file, hexadecimal',
    `status` Enum8('queued' = 0, 'analyzing' = 1, 'done' = 2, 'partial' = 3, 'failed' = 4, 'cancelled' = 5) COMMENT 'partial: the file ended or broke early, what was before is here; failed and cancelled captures have no rows elsewhere',
    `message` String COMMENT 'One sentence about the status: why it failed, or what is missing',
    `format` LowCardinality(String) COMMENT 'pcap or pcapng; empty until analysed',
    `compression` LowCardinality(String) COMMENT 'gzip, zstd or xz; empty when the file is not compressed',
    `link_types` Array(UInt16) COMMENT 'LINKTYPE_ numbers of the interfaces',
    `interfaces` String COMMENT 'Interfaces that the capture was taken at, as JSON' CODEC(ZSTD(3)),
    `access_index` String COMMENT 'Where the file can be entered for random access, as JSON' CODEC(ZSTD(3)),
    `uploaded_at` DateTime64(9, 'UTC') COMMENT 'When the upload ended',
    `analyzed_at` Nullable(DateTime64(9, 'UTC')) COMMENT 'When the analysis ended; NULL until then',
    `first_packet_at` Nullable(DateTime64(9, 'UTC')) COMMENT 'Earliest time stamp of a packet; NULL when the capture has none',
    `last_packet_at` Nullable(DateTime64(9, 'UTC')) COMMENT 'Latest time stamp of a packet; NULL when the capture has none',
    `packets` Nullable(UInt64) COMMENT 'Packets of any kind; like all totals NULL until analysed',
    `rdma_packets` Nullable(UInt64) COMMENT 'Packets of RoCE',
    `bytes` Nullable(UInt64) COMMENT 'Bytes on the wire of all packets',
    `rdma_bytes` Nullable(UInt64) COMMENT 'Bytes on the wire of RoCE packets',
    `messages` Nullable(UInt64) COMMENT 'RDMA operations seen, each once',
    `retransmitted_packets` Nullable(UInt64) COMMENT 'Packets whose PSN had already been passed: the original was seen or is known lost',
    `out_of_order_packets` Nullable(UInt64) COMMENT 'Packets that came late but were not resent',
    `mirror_copy_packets` Nullable(UInt64) COMMENT 'Packets that the capture holds twice',
    `missing_psns` Nullable(UInt64) COMMENT 'PSNs that never arrived where the capture was taken',
    `nak_packets` Nullable(UInt64) COMMENT 'NAKs other than RNR',
    `rnr_nak_packets` Nullable(UInt64) COMMENT 'RNR NAKs: the receiver had no buffer posted',
    `cnp_packets` Nullable(UInt64) COMMENT 'Congestion notification packets',
    `ce_packets` Nullable(UInt64) COMMENT 'RoCE packets marked Congestion Experienced',
    `icrc_errors` Nullable(UInt64) COMMENT 'Packets whose ICRC is wrong',
    `icrc_undetermined` Nullable(UInt64) COMMENT 'Packets whose ICRC cannot be judged: cut, fragmented, rewritten',
    `malformed_packets` Nullable(UInt64) COMMENT 'Packets that contradict their own protocol',
    `truncated_packets` Nullable(UInt64) COMMENT 'Packets cut by the capture inside a header',
    `unsupported_packets` Nullable(UInt64) COMMENT 'Packets of a protocol that is recognised but not decoded',
    `not_rdma_packets` Nullable(UInt64) COMMENT 'Packets of any other kind',
    `pause_frames` Nullable(UInt64) COMMENT 'Ethernet pause and priority flow control frames',
    `flows` Nullable(UInt64) COMMENT 'Rows of the table flows',
    `connections` Nullable(UInt64) COMMENT 'Connections: flows whose directions were paired count once',
    `evicted_flows` Nullable(UInt64) COMMENT 'Flows that were closed early for want of memory',
    `notes` Array(String) COMMENT 'What was passed over while reading the file, and where',
    `software` LowCardinality(String) COMMENT 'Version of rocelens that analysed the file'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
COMMENT 'Uploaded captures and their totals';
