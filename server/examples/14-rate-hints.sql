-- MetaRoCE: rate hints and packets in flight over time
-- What the receiver granted in each ACK, and how much the sender had under way: the last capture with MetaRoCE, in 100 steps.
WITH
    (
        SELECT c.id FROM captures AS c WHERE c.id IN (SELECT capture_id FROM paths) ORDER BY c.uploaded_at DESC LIMIT 1
    ) AS newest,
    (
        SELECT greatest(1, intDiv(max(toUnixTimestamp64Nano(assumeNotNull(time))) - min(toUnixTimestamp64Nano(assumeNotNull(time))), 100))
        FROM packets WHERE capture_id = newest AND cumulative_psn IS NOT NULL AND time IS NOT NULL
    ) AS step
SELECT
    fromUnixTimestamp64Nano(intDiv(toUnixTimestamp64Nano(assumeNotNull(time)), assumeNotNull(step)) * assumeNotNull(step), 'UTC') AS at,
    replaceOne(toString(source), '::ffff:', '') AS receiver,
    path_id,
    argMax(rate_hint_mbps, number) AS granted_mbps,
    max(in_flight) AS most_in_flight,
    round(avg(rtt_ns) / 1000, 1) AS round_trip_us,
    count() AS acks
FROM packets
WHERE capture_id = newest AND cumulative_psn IS NOT NULL AND time IS NOT NULL
GROUP BY at, source, path_id
ORDER BY at, receiver, path_id
LIMIT 10000
