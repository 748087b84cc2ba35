-- Congestion: marks and the notifications that answer them
-- A receiver that sees CE should send CNPs back. Marks without CNPs mean that nobody slows down.
SELECT
    replaceOne(toString(marked.source), '::ffff:', '') AS sender,
    replaceOne(toString(marked.destination), '::ffff:', '') AS receiver,
    marked.packets AS data_packets,
    marked.ce AS ce_marked,
    round(100 * marked.ce / marked.packets, 2) AS ce_percent,
    answers.cnps AS cnps_sent_back
FROM
(
    SELECT capture_id, source, destination, sum(packets) AS packets, sum(ce_marked) AS ce
    FROM flows
    GROUP BY capture_id, source, destination
    HAVING ce > 0
) AS marked
LEFT JOIN
(
    SELECT capture_id, source, destination, sum(cnps) AS cnps
    FROM flows
    GROUP BY capture_id, source, destination
) AS answers
    ON answers.capture_id = marked.capture_id AND answers.source = marked.destination AND answers.destination = marked.source
ORDER BY ce_marked DESC
LIMIT 100
