-- Which connections resent, and what made them
-- After a NAK: loss was noticed at once. After silence: a timeout, hundreds of times slower. After RNR: the receiver had no buffer.
SELECT
    replaceOne(toString(source), '::ffff:', '') AS sender,
    replaceOne(toString(destination), '::ffff:', '') AS receiver,
    destination_qp,
    packets,
    retransmitted,
    round(100 * retransmitted / packets, 2) AS percent,
    retransmitted_after_nak AS after_nak,
    retransmitted_after_timeout AS after_silence,
    retransmitted_after_rnr AS after_rnr,
    missing_psns
FROM flows
WHERE retransmitted > 0
ORDER BY retransmitted DESC
LIMIT 100
