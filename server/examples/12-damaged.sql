-- Damaged packets and the hop they came from
-- A wrong ICRC was caused between the sender and here; the MAC address names the last device that sent the frame.
SELECT
    source_mac AS last_hop,
    replaceOne(toString(source), '::ffff:', '') AS sender,
    countIf(icrc = 'bad') AS icrc_bad,
    countIf(verdict = 'malformed') AS malformed,
    count() AS rdma_packets,
    min(number) AS first_packet
FROM packets
WHERE opcode IS NOT NULL OR verdict = 'malformed'
GROUP BY source_mac, source
HAVING icrc_bad > 0 OR malformed > 0
ORDER BY icrc_bad + malformed DESC
LIMIT 100
