-- MetaRoCE: paths that were moved, and when
-- A sender takes a path off a bad route by another source port, which ECMP hashes elsewhere. PROBEs tell that it held the path to have failed.
SELECT
    replaceOne(toString(source), '::ffff:', '') AS sender,
    replaceOne(toString(destination), '::ffff:', '') AS receiver,
    path_id,
    port,
    first_at,
    first_packet,
    port_packets,
    probes,
    state
FROM paths
ARRAY JOIN
    source_ports.port AS port,
    source_ports.packets AS port_packets,
    source_ports.first_number AS first_packet,
    source_ports.first_time AS first_at
WHERE re_paths > 0
ORDER BY capture_id, flow_id, path_id, first_packet
LIMIT 500
