-- Throughput in steps of 10 ms
-- The newest capture over time, on the wire: where an all-reduce waits, this has holes.
WITH (SELECT id FROM captures WHERE packets > 0 ORDER BY uploaded_at DESC LIMIT 1) AS newest
SELECT
    toStartOfInterval(time, toIntervalMillisecond(10)) AS step,
    count() AS packets,
    round(sum(original_length) * 8 / 0.01 / 1e9, 3) AS gbit_per_second,
    countIf(is_retransmitted) AS resent,
    countIf(ecn = 'CE') AS ce_marked
FROM packets
WHERE capture_id = newest AND verdict != 'not_rdma' AND time IS NOT NULL
GROUP BY step
ORDER BY step
LIMIT 10000
