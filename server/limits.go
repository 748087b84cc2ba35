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
	maxIngestBody   = 64 << 20
	ingestMemory    = 256 << 20 // of bodies that are being read or stored
	maxLiveClients  = 64
	livePoll        = time.Second      // between two looks of all clients together
	liveTimeout     = 20 * time.Second // of one look
	liveHeartbeat   = 10 * time.Second // of a stream without events
	liveKept        = 60               // events that a client can catch up on
	liveKeptBytes   = 4 << 20
	liveMemory      = time.Minute // for a client that comes back
	// Nothing is written below this much free space: a full disk stops the database too.
	minDiskReserve = 256 << 20
)
