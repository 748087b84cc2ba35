-- The longest pauses within a flow
-- Time in which a flow sent nothing, with the packet that ended it: a resend there is a timeout.
WITH (SELECT id FROM captures WHERE packets > 0 ORDER BY uploaded_at DESC LIMIT 1) AS newest
SELECT
    flow_id,
    number,
    opcode_name,
    psn,
    round(pause_ns / 1e6, 3) AS pause_ms,
    findings
FROM
(
    SELECT
        flow_id,
        number,
        opcode_name,
        psn,
        findings,
        toUnixTimestamp64Nano(time) - lagInFrame(toUnixTimestamp64Nano(time), 1, NULL)
            OVER (PARTITION BY flow_id ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS pause_ns
    FROM packets
    WHERE capture_id = newest AND flow_id IS NOT NULL AND time IS NOT NULL
)
WHERE pause_ns > 0
ORDER BY pause_ns DESC
LIMIT 50
