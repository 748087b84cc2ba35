// Package capture is where frames come from: files, standard input and, in its sub-packages, network interfaces.
package capture

// Frame is one captured frame. Data is valid until its batch is filled again or the source is closed, so
// several batches of one source can be worked on at once.
type Frame struct {
	Data           []byte
	Number         uint64 // position in the capture, from 1
	Time           int64  // nanoseconds since the Unix epoch; meaningless unless HasTime
	Offset         int64  // of the record or block in the (decompressed) file; -1 for live sources
	OriginalLength uint32 // bytes on the wire by the capture's word; may be smaller than len(Data) in faulty files
	Interface      uint32 // index over all sections, as Source.Interfaces counts
	LinkType       uint16 // LINKTYPE_ number, per frame: one file can mix several
	FCSLength      uint8  // trailing bytes of Ethernet FCS
	Direction      Direction
	HasTime        bool // false for pcapng simple packet blocks, and where the capture has zeros for the time
}

// Direction is which way a frame passed the interface.
type Direction uint8

// Directions.
const (
	DirectionUnknown Direction = iota
	DirectionIn
	DirectionOut
)

// Batch is a reusable run of frames. A source that cannot lend its bytes (a stream) copies them into Buffer,
// which belongs to the batch.
type Batch struct {
	Frames []Frame
	Buffer []byte
}

// Interface is what a capture says of one of the places where it listened.
type Interface struct {
	Name        string
	Description string
	LinkType    uint16
	SnapLength  uint32 // 0: unlimited
	Section     uint32 // pcapng section, from 0
	Received    *uint64
	Dropped     *uint64 // by the interface or the kernel, where the capture tells; nil: it does not
	Ignored     Ignored // of Received
	Clock       string  // whose time frames have, in words, where a live source tells
}

// Ignored is what a live source told from RDMA where it listened, and did not hand over.
type Ignored struct{ Packets, Bytes uint64 }

// Progress is how far a source has come.
type Progress struct {
	BytesRead  int64 // of the file as it lies on disk (compressed bytes for a compressed file)
	BytesTotal int64 // 0: unknown
}

// Report is a source's account of what it could and could not read. It is final after Next returned io.EOF.
type Report struct {
	Format      string // "pcap", "pcapng"
	Compression string // "", "gzip", "zstd", "xz"
	Packets     uint64
	Partial     bool     // the file ended or broke before its proper end
	Fault       string   // why, for people: what, where, what was kept; empty when not Partial
	FaultOffset int64    // of the fault in the (decompressed) file
	Skipped     []string // what was passed over or not believed, such as blocks, bytes and times, with its place; bounded
	Comments    []string // what people wrote into the capture, with what it is about; bounded
}

// Source yields frames in batches.
type Source interface {
	// Next fills the batch with at least one frame, or returns io.EOF at the end, or another error when
	// nothing at all could be read. A fault after good frames ends in io.EOF with Report().Partial set.
	Next(batch *Batch) error
	Interfaces() []Interface
	Report() Report
	Close() error
}
