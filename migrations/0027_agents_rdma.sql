-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE agents
    ADD COLUMN IF NOT EXISTS `rdma` Array(String) COMMENT 'RDMA port behind each interface, for instance mlx5_0/1, or that there is no RDMA device; empty when the agent does not read counters' AFTER `up`,
    ADD COLUMN IF NOT EXISTS `bypassed` Array(UInt8) COMMENT 'Whether a NIC moves RDMA packets of each interface past the kernel, so that a capture there does not see this host''s own' AFTER `rdma`;
