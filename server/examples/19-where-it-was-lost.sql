-- Where packets were lost
-- Before the capture: a gap that the receiver complained of, too. Behind it: seen here, complained of there. Missed: the receiver had them.
SELECT
    replaceOne(toString(sender), '::ffff:', '') AS sender,
    sender_qp,
    vantage,
    packets,
    lost_before,
    lost_after,
    resent_unknown,
    missed AS missed_by_the_capture,
    round(to_receiver_min_ns / 1000, 1) AS to_receiver_us,
    round(to_sender_min_ns / 1000, 1) AS to_sender_us
FROM replays
WHERE lost_before + lost_after + resent_unknown + missed > 0
ORDER BY lost_before + lost_after + resent_unknown DESC
LIMIT 100
