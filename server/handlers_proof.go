package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// divergenceID is the number in an address.
func divergenceID(text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, problemf(kindInvalid, "Parameter \"divergence_id\": %s is too large for a divergence.", text)
	}
	return id, nil
}

// noDivergence says so where a divergence was not found.
func noDivergence(err error, id string) error {
	if errors.Is(err, ErrNotFound) {
		return problemf(kindNotFound, "The capture has no divergence %s. Another analysis may have found others: open its replay.", id)
	}
	return err
}

// divergence is what all requests about one divergence need: the account of the capture, the divergence's number, and the
// path of the capture's file, empty when that is gone.
func (e *endpoint) divergence(ctx context.Context, capture uuid.UUID, divergence string) (c Account, id uint64, path string, err error) {
	if c, err = e.s.library.account(ctx, capture); err != nil {
		return c, 0, "", err
	}
	if id, err = divergenceID(divergence); err != nil {
		return c, 0, "", err
	}
	if path, err = e.s.library.file(capture); errors.Is(err, ErrNotFound) {
		err = nil
	}
	return c, id, path, err
}

// GetDivergence answers GET /captures/{capture_id}/divergences/{divergence_id}.
func (e *endpoint) GetDivergence(ctx context.Context, r api.GetDivergenceRequestObject) (api.GetDivergenceResponseObject, error) {
	c, id, _, err := e.divergence(ctx, r.CaptureId, r.DivergenceId)
	if err != nil {
		return nil, err
	}
	d, err := e.s.opt.Proofs.Divergence(ctx, c, id)
	return api.GetDivergence200JSONResponse(d), noDivergence(err, r.DivergenceId)
}

// ListDivergencePackets answers GET /captures/{capture_id}/divergences/{divergence_id}/packets.
func (e *endpoint) ListDivergencePackets(ctx context.Context, r api.ListDivergencePacketsRequestObject) (api.ListDivergencePacketsResponseObject, error) {
	c, id, path, err := e.divergence(ctx, r.CaptureId, r.DivergenceId)
	if err != nil {
		return nil, err
	}
	found, err := e.s.opt.Proofs.DivergencePackets(ctx, c, path, id, *r.Params.Around)
	return api.ListDivergencePackets200JSONResponse(found), noDivergence(err, r.DivergenceId)
}

// DownloadDivergence answers GET /captures/{capture_id}/divergences/{divergence_id}/pcapng.
func (e *endpoint) DownloadDivergence(ctx context.Context, r api.DownloadDivergenceRequestObject) (api.DownloadDivergenceResponseObject, error) {
	c, id, path, err := e.divergence(ctx, r.CaptureId, r.DivergenceId)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, problemf(kindNotFound, "The file of this capture is no longer in the data directory, so its packets cannot be copied.")
	}
	name, write, err := e.s.opt.Proofs.Excerpt(ctx, c, path, id, *r.Params.Around)
	if err != nil {
		return nil, noDivergence(err, r.DivergenceId)
	}
	return &excerptAnswer{name: name, write: write}, nil
}

// excerptAnswer streams a file that is made on the way.
type excerptAnswer struct {
	name  string
	write func(w io.Writer) error
}

// VisitDownloadDivergenceResponse implements api.DownloadDivergenceResponseObject. What fails before the buffer is full is
// still answered as a problem.
func (a *excerptAnswer) VisitDownloadDivergenceResponse(w http.ResponseWriter) error {
	out := bufio.NewWriterSize(&headed{w: w, name: a.name}, 1<<20)
	if err := a.write(out); err != nil {
		return err
	}
	return out.Flush()
}

// headed sets the headers of a download with its first bytes.
type headed struct {
	w     http.ResponseWriter
	name  string
	began bool
}

// Write sends bytes of the file.
func (h *headed) Write(p []byte) (int, error) {
	if !h.began {
		h.began = true
		h.w.Header().Set("Content-Type", "application/octet-stream")
		h.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": h.name}))
		h.w.WriteHeader(http.StatusOK)
	}
	return h.w.Write(p)
}
