-- How long acknowledgements take
-- From the packet that asked for an ACK to the ACK with its PSN, by connection, as seen where the capture was taken.
WITH (SELECT id FROM captures WHERE packets > 0 ORDER BY uploaded_at DESC LIMIT 1) AS newest
SELECT
    replaceOne(toString(any(asked.source)), '::ffff:', '') AS sender,
    replaceOne(toString(any(asked.destination)), '::ffff:', '') AS receiver,
    asked.flow_id AS flow,
    count() AS answered,
    round(quantile(0.5)(latency_ns) / 1000, 1) AS median_us,
    round(quantile(0.99)(latency_ns) / 1000, 1) AS p99_us,
    round(max(latency_ns) / 1000, 1) AS worst_us
FROM
(
    SELECT flow_id, psn, source, destination, min(toUnixTimestamp64Nano(assumeNotNull(time))) AS at
    FROM packets
    WHERE capture_id = newest AND ack_request AND flow_id IS NOT NULL AND time IS NOT NULL
    GROUP BY flow_id, psn, source, destination
) AS asked
INNER JOIN
(
    SELECT assumeNotNull(f.reverse_flow_id) AS flow_id, a.psn AS psn, min(toUnixTimestamp64Nano(assumeNotNull(a.time))) AS at
    FROM packets AS a
    INNER JOIN flows AS f ON f.capture_id = a.capture_id AND f.flow_id = a.flow_id
    WHERE a.capture_id = newest AND f.reverse_flow_id IS NOT NULL AND a.syndrome IS NOT NULL AND a.nak = '' AND a.time IS NOT NULL
    GROUP BY flow_id, psn
) AS answer ON answer.flow_id = asked.flow_id AND answer.psn = asked.psn
ARRAY JOIN [answer.at - asked.at] AS latency_ns
WHERE latency_ns >= 0
GROUP BY asked.flow_id
ORDER BY p99_us DESC
LIMIT 50
