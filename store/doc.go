// Package store keeps in ClickHouse what was found in captures: captures, flows and packets.
//
// An analysis writes by way of an [Analysis]. Its rows go, column by column, through one writer a table
// that all analyses share, into staging tables, and appear in the tables that users read all at once:
// the partition of the capture is replaced. So an analysis that fails or is cancelled leaves nothing, what
// an earlier one has found stays until the next one is complete, and to delete a capture is to drop a
// partition. Inserts are tried again with the same deduplication token, so nothing is lost or doubled by a
// database that goes away for a while.
//
// What users ask in SQL runs as the reader, whose rights and limits are the database's own business.
package store
