package pcapfile

// Limits that keep a hostile or damaged file from costing more than its own size.
const (
	// MaxFrame is the longest frame that is believed, in bytes. A capture's own snap length is no limit: tools write
	// headers that their records contradict. The longest frames in use are BIG TCP's, 512 KiB.
	MaxFrame = 1 << 20

	// DefaultMaxDecompressed is how many bytes come out of a compressed file unless Options say otherwise: 256 GiB.
	DefaultMaxDecompressed = 256 << 30

	// DefaultBatch is how many frames a batch without capacity of its own is given.
	DefaultBatch = 512

	maxPacketBlock = 16 << 20 // pcapng packet block with its options; longer ones are passed over
	maxMetaBlock   = 1 << 20  // any other pcapng block that is looked into
	maxInterfaces  = 1 << 16  // in one file, over all sections
	maxSections    = 1 << 16
	maxNotes       = 100       // sentences in Report.Skipped before it only counts
	maxText        = 256       // bytes kept of a name or description
	firstWindow    = 64 << 10  // first size of the window over a stream
	batchBuffer    = 512 << 10 // what a batch without a buffer is given: with its packets it fits a core's cache
	maxDictionary  = 64 << 20
)
