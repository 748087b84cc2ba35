-- Who was asked to pause
-- Pause frames by priority. Time is the sum of what was asked for on a 400 Gbit/s link, where a quantum is 1.28 ns; a later frame may have cut it short.
SELECT
    name,
    if(priority IS NULL, 'whole link', concat('priority ', toString(priority))) AS stopped,
    xoff,
    xon,
    quanta,
    round(quanta * 512 / 400e9 * 1e6, 1) AS paused_us_at_400g,
    max_quanta,
    first_number,
    last_number
FROM captures
ARRAY JOIN
    pauses.priority AS priority,
    pauses.xoff AS xoff,
    pauses.xon AS xon,
    pauses.quanta AS quanta,
    pauses.max_quanta AS max_quanta,
    pauses.first_number AS first_number,
    pauses.last_number AS last_number
ORDER BY uploaded_at DESC, priority
