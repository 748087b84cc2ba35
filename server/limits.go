package server

import "time"

// Limits that no configuration changes.
const (
	maxJSONBody     = 1 << 20
	maxHeaderBytes  = 64 << 10
	maxNameLength   = 255
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	transferTimeout = time.Minute // between two reads of a body, or two writes of an answer
	requestTimeout  = time.Minute // of everything but queries and transfers of files
	queryTimeout    = 10 * time.Minute
	shutdownTimeout = 10 * time.Second
	diskCheckEvery  = 64 << 20 // bytes written between two looks at the disk
	expiryInterval  = time.Hour
	smallBytes      = 32 << 20 // of a decompressed capture that need not wait for large ones
	smallPackets    = 250_000  // in it
	saveTimeout     = 30 * time.Second
	// Nothing is written below this much free space: a full disk stops the database too.
	minDiskReserve = 256 << 20
)
