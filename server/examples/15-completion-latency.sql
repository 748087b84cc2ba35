-- MetaRoCE: completion latency by stream
-- From the first packet of a message to the ACK of its last byte. A stream that waits for what was lost shows in the tail.
SELECT
    replaceOne(toString(source), '::ffff:', '') AS sender,
    replaceOne(toString(destination), '::ffff:', '') AS receiver,
    stream_id,
    messages,
    complete,
    retransmitted,
    round(latency_p50_ns / 1000, 1) AS median_us,
    round(latency_p99_ns / 1000, 1) AS p99_us,
    round(latency_max_ns / 1000, 1) AS worst_us,
    round(latency_p99_ns / latency_p50_ns, 1) AS tail
FROM streams
WHERE latency_samples > 0
ORDER BY latency_p99_ns DESC
LIMIT 100
