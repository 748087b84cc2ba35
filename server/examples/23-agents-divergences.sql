-- What agents found
-- Divergences by rule and host in the last hour, where the capture lost nothing. Where it did, no agent judges.
SELECT
    rule,
    severity,
    host,
    interface,
    countIf(verdict = 'diverges') AS diverges,
    countIf(verdict = 'undetermined') AS undetermined,
    uniqExact(connection_id) AS connections,
    any(sentence) AS example,
    max(interval_end) AS latest
FROM agent_divergences
WHERE interval_end > now() - INTERVAL 1 HOUR AND missed = 0
GROUP BY rule, severity, host, interface
ORDER BY severity DESC, diverges DESC
LIMIT 100
