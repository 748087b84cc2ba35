-- MetaRoCE: the paths that lost the most
-- What was sent again is what was lost, on either side of the capture. A path that stands out leads over a bad link.
SELECT
    replaceOne(toString(source), '::ffff:', '') AS sender,
    replaceOne(toString(destination), '::ffff:', '') AS receiver,
    path_id,
    plane_id,
    arrayElement(source_ports.port, -1) AS source_port,
    packets,
    retransmitted,
    round(100 * resent_share, 2) AS resent_percent,
    round(100 * ce_share, 2) AS ce_percent,
    lost,
    state
FROM paths
WHERE packets > 0
ORDER BY resent_share DESC, retransmitted DESC
LIMIT 100
