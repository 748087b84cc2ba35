package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// captures implements server.Captures.
type captures struct {
	store   *store.Store
	version string
}

// served turns the store's errors into the server's.
func served(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: %w", server.ErrNotFound, err)
	case errors.Is(err, store.ErrBadRequest):
		// The person who asked reads it, and the kind of the error twice is no sentence.
		return fmt.Errorf("%w: %s", server.ErrBadRequest, strings.TrimPrefix(err.Error(), store.ErrBadRequest.Error()+": "))
	case away(err):
		return fmt.Errorf("%w: %w", server.ErrUnavailable, err)
	}
	return err
}

// away tells whether an error is that of a database that is not there, or no longer.
func away(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// ListCaptures implements server.Captures.
func (c *captures) ListCaptures(ctx context.Context, cursor string, limit int) (api.CaptureList, error) {
	page, err := c.store.Captures(ctx, cursor, limit)
	if err != nil {
		return api.CaptureList{}, served(err)
	}
	out := api.CaptureList{Captures: make([]api.Capture, 0, len(page.Captures))}
	for i := range page.Captures {
		account, err := accountOf(&page.Captures[i])
		if err != nil {
			return out, err
		}
		out.Captures = append(out.Captures, account.Capture)
	}
	if page.Next != "" {
		out.NextCursor = &page.Next
	}
	return out, nil
}

// Capture implements server.Captures.
func (c *captures) Capture(ctx context.Context, id uuid.UUID) (server.Account, error) {
	stored, err := c.store.Capture(ctx, id)
	if err != nil {
		return server.Account{}, served(err)
	}
	return accountOf(&stored)
}

// CaptureBySHA256 implements server.Captures.
func (c *captures) CaptureBySHA256(ctx context.Context, sum string) (server.Account, error) {
	stored, err := c.store.CaptureBySHA256(ctx, sum)
	if err != nil {
		return server.Account{}, served(err)
	}
	return accountOf(&stored)
}

// SaveCapture implements server.Captures.
func (c *captures) SaveCapture(ctx context.Context, a server.Account) error {
	interfaces, err := json.Marshal(a.Interfaces)
	if err != nil {
		return fmt.Errorf("save capture %s: %w", a.Id, err)
	}
	out := store.Capture{
		ID: a.Id, Name: a.Name, Size: uint64(a.Size), SHA256: a.Sha256, Status: store.Status(a.Status),
		Message: textOf(a.Message), Format: textOf(a.Format), Compression: textOf(a.Compression),
		LinkTypes: a.LinkTypes, Interfaces: string(interfaces), AccessIndex: a.AccessIndex,
		UploadedAt: a.UploadedAt, AnalyzedAt: a.AnalyzedAt, FirstPacket: a.FirstPacketAt, LastPacket: a.LastPacketAt,
		Notes: a.Notes,
	}
	if a.Analyzed && a.Totals != nil {
		totals := storedTotals(a.Totals)
		out.Totals, out.Software = &totals, c.version
	}
	out.Pause = storedPause(a.Pause)
	return served(c.store.SaveCapture(ctx, &out))
}

func accountOf(c *store.Capture) (server.Account, error) {
	out := server.Account{
		AccessIndex: c.AccessIndex, LinkTypes: c.LinkTypes,
		Capture: api.Capture{
			Id: c.ID, Name: c.Name, Size: int64(c.Size), Sha256: c.SHA256, Status: api.CaptureStatus(c.Status),
			Message: pointerTo(c.Message), Format: pointerTo(c.Format), Compression: pointerTo(c.Compression),
			UploadedAt: c.UploadedAt.UTC(), AnalyzedAt: c.AnalyzedAt, FirstPacketAt: c.FirstPacket, LastPacketAt: c.LastPacket,
			Analyzed: c.Totals != nil, Notes: c.Notes, Interfaces: []api.CaptureInterface{},
		},
	}
	if out.Notes == nil {
		out.Notes = []string{}
	}
	if c.Totals != nil {
		t := totals(c.Totals)
		out.Totals = &t
	}
	out.Pause = pauseOf(c.Pause)
	if c.Interfaces != "" {
		if err := json.Unmarshal([]byte(c.Interfaces), &out.Interfaces); err != nil {
			return out, fmt.Errorf("interfaces of capture %s: %w", c.ID, err)
		}
	}
	return out, nil
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// pointerTo is nil for the empty string, which the API leaves out.
func pointerTo(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func storedTotals(t *api.Totals) store.Totals {
	out := store.Totals{MissingAcknowledged: uint64(t.MissingPsnsAcknowledged), ICRCRewritten: uint64(t.IcrcErrorsPortRewritten)}
	out.Totals = flow.Totals{
		Packets: uint64(t.Packets), RDMAPackets: uint64(t.RdmaPackets), Bytes: uint64(t.Bytes), RDMABytes: uint64(t.RdmaBytes),
		Messages: uint64(t.Messages), Retransmitted: uint64(t.RetransmittedPackets), OutOfOrder: uint64(t.OutOfOrderPackets),
		MirrorCopies: uint64(t.MirrorCopyPackets), MissingPSNs: uint64(t.MissingPsns), Naks: uint64(t.NakPackets),
		RNRNaks: uint64(t.RnrNakPackets), CNPs: uint64(t.CnpPackets), CEMarked: uint64(t.CePackets), ICRCErrors: uint64(t.IcrcErrors),
		ICRCUndetermined: uint64(t.IcrcUndetermined), Malformed: uint64(t.MalformedPackets), Truncated: uint64(t.TruncatedPackets),
		Unsupported: uint64(t.UnsupportedPackets), NotRDMA: uint64(t.NotRdmaPackets), PauseFrames: uint64(t.PauseFrames),
		Flows: uint64(t.Flows), Connections: uint64(t.Connections), EvictedFlows: uint64(t.EvictedFlows),
	}
	return out
}
