-- Is RDMA in the class it should be in
-- DSCP, VLAN priority and ECN of RDMA packets. Not-ECT packets are dropped where others would be marked.
SELECT
    dscp,
    vlan_priority,
    ecn,
    count() AS packets,
    formatReadableSize(sum(original_length)) AS size,
    uniqExact(capture_id) AS captures
FROM packets
WHERE protocol IN ('RoCEv1', 'RoCEv2') AND opcode IS NOT NULL
GROUP BY dscp, vlan_priority, ecn
ORDER BY packets DESC
