-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE captures
    ADD COLUMN IF NOT EXISTS `pauses.priority` Array(Nullable(UInt8)) COMMENT 'Priorities that pause frames addressed; NULL is the whole link (802.3x)' AFTER `pause_frames`,
    ADD COLUMN IF NOT EXISTS `pauses.xoff` Array(UInt64) COMMENT 'How often each was asked to stop' AFTER `pauses.priority`,
    ADD COLUMN IF NOT EXISTS `pauses.xon` Array(UInt64) COMMENT 'How often each was told to go on: a pause of 0 quanta' AFTER `pauses.xoff`,
    ADD COLUMN IF NOT EXISTS `pauses.quanta` Array(UInt64) COMMENT 'Sum of the pauses asked of each, in units of 512 bit times of the link; a later frame may have cut one short' AFTER `pauses.xon`,
    ADD COLUMN IF NOT EXISTS `pauses.max_quanta` Array(UInt16) COMMENT 'Longest of them' AFTER `pauses.quanta`,
    ADD COLUMN IF NOT EXISTS `pauses.first_number` Array(UInt64) COMMENT 'Number of the first frame for each' AFTER `pauses.max_quanta`,
    ADD COLUMN IF NOT EXISTS `pauses.last_number` Array(UInt64) COMMENT 'Number of the last frame for each' AFTER `pauses.first_number`,
    ADD COLUMN IF NOT EXISTS `pause_no_class_frames` Nullable(UInt64) COMMENT 'Priority flow control frames that address no priority' AFTER `pauses.last_number`;
