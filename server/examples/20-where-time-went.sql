-- Where the time went
-- A sender that loses packets stands still until its timer runs out, one whose peer is not ready as long as that asks for. The rest is sending, waiting for answers, or having nothing to send.
SELECT
    replaceOne(toString(sender), '::ffff:', '') AS sender,
    sender_qp,
    round(lasting_ns / 1e6, 3) AS lasting_ms,
    timer_waits,
    round(timer_wait_ns / 1e6, 3) AS timer_wait_ms,
    rnr_waits,
    round(rnr_wait_ns / 1e6, 3) AS rnr_wait_ms,
    round(100 * (timer_wait_ns + rnr_wait_ns) / lasting_ns, 1) AS stood_still_percent
FROM replays
WHERE lasting_ns > 0
ORDER BY timer_wait_ns + rnr_wait_ns DESC
LIMIT 100
