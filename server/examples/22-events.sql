-- What triggered flight recorders
-- Events of agents, and what became of each. The capture is the record: its page names the event, too.
SELECT
    any(t.time) AS at,
    any(t.host) AS host,
    any(t.interface) AS interface,
    any(t.kind) AS kind,
    any(t.sentence) AS what,
    max(t.fate) AS became,
    argMax(t.why, t.fate) AS why,
    max(t.capture_id) AS capture
FROM agent_triggers AS t
WHERE t.time > now() - INTERVAL 1 DAY
GROUP BY agent_id, event_id
ORDER BY at DESC
LIMIT 100
