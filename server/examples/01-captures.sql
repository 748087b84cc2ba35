-- What is in each capture
-- The totals at a glance: how much of it is RDMA, what was resent, refused and marked.
SELECT
    name,
    status,
    packets,
    rdma_packets,
    formatReadableSize(rdma_bytes) AS rdma_size,
    retransmitted_packets,
    nak_packets,
    rnr_nak_packets,
    cnp_packets,
    ce_packets,
    icrc_errors,
    last_packet_at - first_packet_at AS seconds
FROM captures
ORDER BY uploaded_at DESC
