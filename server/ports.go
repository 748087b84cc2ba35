package server

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// What the ports' errors are told apart by.
var (
	ErrNotFound    = errors.New("not found")
	ErrBadRequest  = errors.New("bad request") // its text is for the person who asked
	ErrUnavailable = errors.New("the database does not answer")
)

// Account is a capture as it is kept.
type Account struct {
	api.Capture
	AccessIndex string   // how single packets are found in the file: the Analyzer's own words, opaque here
	LinkTypes   []uint16 // LINKTYPE_ numbers of its interfaces
}

// Captures keeps the accounts of captures.
type Captures interface {
	// ListCaptures returns a page, newest first. A cursor that makes no sense is ErrBadRequest.
	ListCaptures(ctx context.Context, cursor string, limit int) (api.CaptureList, error)
	// Capture returns one capture, or ErrNotFound.
	Capture(ctx context.Context, id uuid.UUID) (Account, error)
	// CaptureBySHA256 returns the capture of a file with this content (hex), or ErrNotFound.
	CaptureBySHA256(ctx context.Context, sum string) (Account, error)
	// SaveCapture inserts or replaces; the next read sees it.
	SaveCapture(ctx context.Context, c Account) error
}

// Eraser removes rows.
type Eraser interface {
	// DeleteResults removes what an analysis of the capture stored, and keeps the capture.
	DeleteResults(ctx context.Context, id uuid.UUID) error
	// DeleteCapture removes the capture and its results.
	DeleteCapture(ctx context.Context, id uuid.UUID) error
}

// Flows reads the flows of captures.
type Flows interface {
	ListFlows(ctx context.Context, capture uuid.UUID, params api.ListFlowsParams) (api.FlowList, error)
	Flow(ctx context.Context, capture uuid.UUID, flow uint64) (api.Flow, error)
	Throughput(ctx context.Context, capture uuid.UUID, params api.GetThroughputParams) (api.Throughput, error)
}

// Paths reads the paths and streams of MetaRoCE connections. A flow that the capture does not have is ErrNotFound.
type Paths interface {
	ListPaths(ctx context.Context, capture uuid.UUID, params api.ListPathsParams) (api.PathList, error)
	ListStreams(ctx context.Context, capture uuid.UUID, params api.ListStreamsParams) (api.StreamList, error)
	PathSeries(ctx context.Context, capture uuid.UUID, flow uint64, path uint8, params api.GetPathSeriesParams) (api.PathSeries, error)
}

// Replays reads what connections look like held against the reference transports.
type Replays interface {
	ListRules(ctx context.Context, capture uuid.UUID) (api.RuleList, error)
	ListDivergences(ctx context.Context, capture uuid.UUID, params api.ListDivergencesParams) (api.DivergenceList, error)
	// Replay is of the connection of a flow. A flow that the capture does not have, or that was not judged, is ErrNotFound.
	Replay(ctx context.Context, capture uuid.UUID, flow uint64) (api.Replay, error)
	// Sequence is the PSNs of a flow over time. A flow that the capture does not have is ErrNotFound.
	Sequence(ctx context.Context, capture uuid.UUID, flow uint64, params api.GetSequenceParams) (api.Sequence, error)
}

// Proofs reads single divergences and what proves them. One that the capture does not have is ErrNotFound.
type Proofs interface {
	Divergence(ctx context.Context, capture Account, id uint64) (api.DivergenceDetail, error)
	// DivergencePackets returns what the capture's file at path holds of them; path may be empty when it is gone.
	DivergencePackets(ctx context.Context, capture Account, path string, id uint64, around int) (api.Surroundings, error)
	// Excerpt finds the packets, up to around of the connection before and after each that proves something, and returns the
	// name of a pcapng file and what writes it.
	Excerpt(ctx context.Context, capture Account, path string, id uint64, around int) (name string, write func(w io.Writer) error, err error)
}

// Packets reads the packets of captures.
type Packets interface {
	// ListPackets returns packets, described by what the capture's file at path holds; path may be empty when it is gone.
	ListPackets(ctx context.Context, capture Account, path string, params api.ListPacketsParams) (api.PacketList, error)
	// Packet returns one packet, its bytes read from the capture's file at path.
	Packet(ctx context.Context, capture Account, path string, number int64) (api.PacketDetail, error)
}

// Queries runs SQL as the database's read-only user.
type Queries interface {
	// Query returns at most maxRows rows. What the database refuses is a *QueryError.
	Query(ctx context.Context, sql string, maxRows int) (api.QueryResult, error)
	// Export writes the whole answer. Nothing is written before the database has accepted the statement.
	Export(ctx context.Context, sql string, format api.QueryRequestFormat, w io.Writer) error
	// Tables describes what may be queried.
	Tables(ctx context.Context) ([]api.Table, error)
}

// QueryError is the database's refusal of a statement, in its own words.
type QueryError struct {
	Code    int // ClickHouse's error code
	Name    string
	Message string
	NoFiles bool // it wanted a file: whatever the code says, that is not permitted
}

func (e *QueryError) Error() string { return e.Message }

// Database tells whether the database answers.
type Database interface {
	// Version asks the database for its version, which is also the proof that it answers.
	Version(ctx context.Context) (string, error)
}

// Analyzer turns a capture file into stored rows.
type Analyzer interface {
	// Analyze reads the file at path and stores what it finds under the capture's id, in place of what was found there
	// before; after an error nothing new is stored. It calls progress now and then, from any goroutine.
	// A file that is no capture is an *UnreadableError.
	Analyze(ctx context.Context, id uuid.UUID, path string, progress func(Step)) (Findings, error)
}

// Unpacker decompresses uploaded files.
type Unpacker interface {
	// Unpack writes the decompressed content of src to dst, at most limit bytes of it, and tells what it was. A file
	// that is not compressed is left alone: Compression is empty and dst is not created.
	Unpack(ctx context.Context, src, dst string, limit int64, progress func(Step)) (Unpacked, error)
}

// Step is how far work on a capture has come.
type Step struct {
	Phase      api.ProgressPhase
	Packets    int64
	Bytes      int64
	BytesTotal int64 // 0: unknown
	Unpacked   int64 // bytes that came out of a compressed file, while it is decompressed
}

// Unpacked says what decompression found.
type Unpacked struct {
	Compression string // gzip, zstd, xz; empty: not compressed
	Fault       string // one sentence on why not all came out; empty: all did
}

// UnreadableError says why nothing can be read from a file.
type UnreadableError struct {
	Reason string // for people
	Cut    bool   // the file ends before anything could be read
}

func (e *UnreadableError) Error() string { return e.Reason }

// Findings are what an analysis tells of a capture as a whole.
type Findings struct {
	Format      string
	Totals      api.Totals
	Pause       api.Pause
	First, Last *time.Time // of the packets that have a time stamp
	Interfaces  []api.CaptureInterface
	Notes       []string
	Fault       string    // one sentence on why the file was not read to its end; empty: it was
	AccessIndex string    // see Account
	LinkTypes   []uint16  // LINKTYPE_ numbers of the interfaces, each once
	Other       []Traffic // what the packets without RDMA were, most frequent first
}

// Traffic is a number of packets of one kind.
type Traffic struct {
	Name    string
	Packets uint64
}
