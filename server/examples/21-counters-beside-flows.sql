-- Counters beside packets
-- What the NIC counted in each interval beside what the agent saw on the same interface: sequence errors and CNPs that the NIC knows of and no packet shows were moved past the kernel.
SELECT
    interval_end,
    host,
    interface,
    nic.sequence_errors,
    nic.timeouts,
    nic.cnps_sent,
    nic.marked,
    seen.packets,
    seen.retransmitted,
    seen.naks,
    seen.cnps,
    seen.ce_marked
FROM
(
    SELECT
        interval_end,
        agent_id,
        host,
        interface,
        sumIf(delta, name IN ('packet_seq_err', 'out_of_sequence', 'rx_out_of_sequence', 'seq_err_naks_rcvd')) AS sequence_errors,
        sumIf(delta, name IN ('local_ack_timeout_err', 'to_retransmits')) AS timeouts,
        sumIf(delta, name IN ('np_cnp_sent', 'tx_cnp_pkts')) AS cnps_sent,
        sumIf(delta, name IN ('np_ecn_marked_roce_packets', 'rx_ecn_marked_pkts')) AS marked
    FROM port_counters
    WHERE interval_end > now() - INTERVAL 1 HOUR AND source = 'hardware'
    GROUP BY interval_end, agent_id, host, interface
) AS nic
LEFT JOIN
(
    SELECT
        interval_end,
        agent_id,
        interface,
        sum(packets) AS packets,
        sum(retransmitted) AS retransmitted,
        sum(naks) AS naks,
        sum(cnps) AS cnps,
        sum(ce_marked) AS ce_marked
    FROM agent_flows
    WHERE interval_end > now() - INTERVAL 1 HOUR
    GROUP BY interval_end, agent_id, interface
) AS seen USING (interval_end, agent_id, interface)
ORDER BY interval_end DESC, host, interface
LIMIT 500
