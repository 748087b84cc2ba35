-- Why requests were refused
-- NAKs by reason and by the host that sent them. A sequence error is loss; an access error is a wrong key or address.
SELECT
    reason,
    replaceOne(toString(source), '::ffff:', '') AS refused_by,
    sum(number) AS naks,
    uniqExact(capture_id, flow_id) AS flows
FROM
(
    SELECT capture_id, flow_id, source, mapKeys(naks_by_code) AS reasons, mapValues(naks_by_code) AS numbers
    FROM flows
    WHERE naks > 0
)
ARRAY JOIN reasons AS reason, numbers AS number
GROUP BY reason, source
ORDER BY naks DESC
