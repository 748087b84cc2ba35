// Package spool keeps records on disk until somebody has confirmed that they arrived elsewhere.
//
// Records lie in segments, files of a few MiB, in the order in which they were added. A record is acknowledged once
// [Spool.Sync] has returned without an error after it was added: from then on it outlives the process, and the machine
// as far as its disk keeps what fsync promised. [Spool.Next] hands out acknowledged records alone, so whatever was
// handed out exists still after any crash, under the same [Record.ID]. [Spool.Confirm] says that a record has arrived; a
// segment is removed when all of its records have. What was handed out and not confirmed is handed out again by the
// next process: delivery is at least once, and the ID is there for the receiver to make it exactly once.
//
// A process that is killed while it writes leaves the beginning of a record at the end of the last segment. It is
// cut off and counted when the spool is opened again. Records that the disk has damaged later are left out and
// counted, and those around them are found.
//
// A segment begins with
//
//	magic "rlspool1" | id, 16 random bytes | sequence of its first record, 8 | CRC-32C of all before, 4
//
// and each record with
//
//	length of its data, 4 | units, 4 | sequence, 8 | time, 8 | CRC-32C of all before and the data, 4
//
// all numbers little-endian. The id is drawn anew for each segment, so that a number that comes again, because its
// first bearer was never acknowledged, does not make two records one.
package spool
