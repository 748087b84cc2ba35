-- What was missing
-- The ledger of agents by minute: what reached the capture, what the rows count, and what did not get on, by reason.
SELECT
    toStartOfMinute(interval_end) AS minute,
    host,
    interface,
    sum(source_in) AS reached_the_capture,
    sum(decode_out) AS packets_of_rdma,
    sum(spool_out) AS counted_by_rows,
    sumMap(drops) AS did_not_get_on,
    sum(interface_dropped) AS lost_before,
    countIf(up = 0) AS intervals_down
FROM agent_intervals
WHERE interval_end > now() - INTERVAL 1 HOUR
GROUP BY minute, host, interface
ORDER BY minute DESC, host, interface
LIMIT 500
