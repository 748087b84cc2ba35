-- Who moved the most bytes
-- Pairs of hosts in the newest capture, all their connections together.
WITH (SELECT id FROM captures WHERE packets > 0 ORDER BY uploaded_at DESC LIMIT 1) AS newest
SELECT
    replaceOne(toString(source), '::ffff:', '') AS sender,
    replaceOne(toString(destination), '::ffff:', '') AS receiver,
    count() AS flows,
    sum(packets) AS all_packets,
    formatReadableSize(sum(bytes)) AS size,
    round(100 * sum(bytes) / sum(sum(bytes)) OVER (), 1) AS percent
FROM flows
WHERE capture_id = newest
GROUP BY source, destination
ORDER BY sum(bytes) DESC
LIMIT 50
