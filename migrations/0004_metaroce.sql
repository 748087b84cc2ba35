-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE flows
    MODIFY COLUMN `service` Enum8('RC' = 0, 'UC' = 1, 'RD' = 2, 'UD' = 3, 'CNP' = 4, 'XRC' = 5, 'vendor' = 6, 'vendor2' = 7, 'MetaRoCE' = 8) COMMENT 'Transport service; MetaRoCE for all of its own',
    MODIFY COLUMN `pairing` Enum8('none' = 0, 'inferred' = 1, 'datagram' = 2, 'cm' = 3, 'addresses' = 4) COMMENT 'How the other direction was found: by ACKs that fit, by the DETH, by messages that set the connection up, or as the only one between the addresses',
    MODIFY COLUMN `source_qp` Nullable(UInt32) COMMENT 'QPN of the sender, for MetaRoCE the connection id that it chose; NULL when nothing names it',
    MODIFY COLUMN `destination_qp` UInt32 COMMENT 'QPN of the receiver, for MetaRoCE dest_conn_id',
    MODIFY COLUMN `retransmitted_after_nak` Nullable(UInt64) COMMENT 'Of these: after a NAK for a sequence error; for MetaRoCE after an ACK that showed a gap';
