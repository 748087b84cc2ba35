-- Receivers without a posted buffer
-- RNR NAKs make the sender wait; the timer is what the receiver asked for each time.
SELECT
    replaceOne(toString(source), '::ffff:', '') AS receiver,
    replaceOne(toString(destination), '::ffff:', '') AS sender,
    sum(rnr_naks) AS all_rnr_naks,
    max(rnr_timer_max_ns) / 1e6 AS longest_wait_ms
FROM flows
WHERE rnr_naks > 0
GROUP BY source, destination
ORDER BY all_rnr_naks DESC
