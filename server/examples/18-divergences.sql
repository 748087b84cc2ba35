-- Where connections diverge from the reference
-- Replay holds each connection against the rules of its transport. What the capture may have missed is never called a divergence.
SELECT
    rule,
    severity,
    count() AS divergences,
    uniqExact(capture_id, connection_id) AS connections,
    any(sentence) AS example,
    any(packets) AS packets_of_the_example,
    any(next) AS look_next_at
FROM divergences
WHERE verdict = 'diverges'
GROUP BY rule, severity
ORDER BY severity DESC, divergences DESC
LIMIT 100
