-- Message sizes
-- What READ and WRITE requests ask for, in powers of two: thousands of small ones cost more than one large one.
SELECT
    replaceOne(opcode_name, ' First', '') AS operation,
    formatReadableSize(exp2(ceil(log2(greatest(dma_length, 1))))) AS up_to,
    count() AS requests,
    formatReadableSize(sum(dma_length)) AS size
FROM packets
WHERE dma_length IS NOT NULL AND NOT is_retransmitted
GROUP BY operation, ceil(log2(greatest(dma_length, 1)))
ORDER BY operation, ceil(log2(greatest(dma_length, 1)))
