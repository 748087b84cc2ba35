package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// endpoint implements the generated interface.
type endpoint struct{ s *Server }

var _ api.StrictServerInterface = (*endpoint)(nil)

type requestKey struct{}

// request finds the HTTP request below a handler's context.
func request(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey{}).(*http.Request)
	return r
}

// ListCaptures answers GET /captures.
func (e *endpoint) ListCaptures(ctx context.Context, r api.ListCapturesRequestObject) (api.ListCapturesResponseObject, error) {
	cursor := ""
	if r.Params.Cursor != nil {
		cursor = *r.Params.Cursor
	}
	page, err := e.s.opt.Captures.ListCaptures(ctx, cursor, *r.Params.Limit)
	if err != nil {
		if errors.Is(err, ErrBadRequest) {
			return nil, problemf(kindInvalid, "Parameter \"cursor\": it is not one that this service gave out.")
		}
		return nil, err
	}
	for i := range page.Captures {
		page.Captures[i] = e.s.library.overlaid(page.Captures[i])
	}
	return api.ListCaptures200JSONResponse(page), nil
}

// CreateCapture answers POST /captures.
func (e *endpoint) CreateCapture(ctx context.Context, r api.CreateCaptureRequestObject) (api.CreateCaptureResponseObject, error) {
	length := int64(-1)
	if q := request(ctx); q != nil {
		length = q.ContentLength
	}
	c, created, err := e.s.uploads.direct(ctx, r.Params.Name, r.Body, length)
	switch {
	case err != nil:
		return nil, err
	case created:
		return api.CreateCapture201JSONResponse(c), nil
	}
	return api.CreateCapture200JSONResponse(c), nil
}

// GetCapture answers GET /captures/{capture_id}.
func (e *endpoint) GetCapture(ctx context.Context, r api.GetCaptureRequestObject) (api.GetCaptureResponseObject, error) {
	c, err := e.s.library.get(ctx, r.CaptureId)
	return api.GetCapture200JSONResponse(c), err
}

// DeleteCapture answers DELETE /captures/{capture_id}.
func (e *endpoint) DeleteCapture(ctx context.Context, r api.DeleteCaptureRequestObject) (api.DeleteCaptureResponseObject, error) {
	return api.DeleteCapture204Response{}, e.s.library.remove(ctx, r.CaptureId)
}

// CancelCapture answers POST /captures/{capture_id}/cancel.
func (e *endpoint) CancelCapture(ctx context.Context, r api.CancelCaptureRequestObject) (api.CancelCaptureResponseObject, error) {
	c, err := e.s.library.cancel(ctx, r.CaptureId)
	return api.CancelCapture200JSONResponse(c), err
}

// AnalyzeCapture answers POST /captures/{capture_id}/analyze.
func (e *endpoint) AnalyzeCapture(ctx context.Context, r api.AnalyzeCaptureRequestObject) (api.AnalyzeCaptureResponseObject, error) {
	c, err := e.s.library.analyze(ctx, r.CaptureId)
	return api.AnalyzeCapture202JSONResponse(c), err
}

// DownloadCapture answers GET /captures/{capture_id}/file.
func (e *endpoint) DownloadCapture(ctx context.Context, r api.DownloadCaptureRequestObject) (api.DownloadCaptureResponseObject, error) {
	c, err := e.s.library.get(ctx, r.CaptureId)
	if err != nil {
		return nil, err
	}
	path, err := e.s.library.file(r.CaptureId)
	if err != nil {
		if errors.Is(err, ErrNotFound) {
			err = problemf(kindNotFound, "The file of this capture is no longer in the data directory.")
		}
		return nil, err
	}
	return &fileAnswer{request: request(ctx), path: path, name: downloadName(c)}, nil
}

// downloadName leaves out the ending of a compression that is undone.
func downloadName(c api.Capture) string {
	name := c.Name
	if c.Compression != nil {
		for _, ending := range []string{".gz", ".zst", ".xz"} {
			if shorter, ok := strings.CutSuffix(name, ending); ok && shorter != "" {
				return shorter
			}
		}
	}
	return name
}

// fileAnswer sends a file, or the ranges of it that were asked for.
type fileAnswer struct {
	request *http.Request
	path    string
	name    string
}

// VisitDownloadCaptureResponse implements api.DownloadCaptureResponseObject.
func (a *fileAnswer) VisitDownloadCaptureResponse(w http.ResponseWriter) error {
	file, err := os.Open(a.path)
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.name}))
	http.ServeContent(w, a.request, "", time.Time{}, file)
	return file.Close()
}

// needCapture is an error unless the capture exists.
func (e *endpoint) needCapture(ctx context.Context, id uuid.UUID) error {
	_, err := e.s.library.get(ctx, id)
	return err
}

// ListFlows answers GET /captures/{capture_id}/flows.
func (e *endpoint) ListFlows(ctx context.Context, r api.ListFlowsRequestObject) (api.ListFlowsResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	flows, err := e.s.opt.Flows.ListFlows(ctx, r.CaptureId, r.Params)
	return api.ListFlows200JSONResponse(flows), err
}

// GetFlow answers GET /captures/{capture_id}/flows/{flow_id}.
func (e *endpoint) GetFlow(ctx context.Context, r api.GetFlowRequestObject) (api.GetFlowResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(r.FlowId, 10, 64)
	if err != nil {
		return nil, problemf(kindInvalid, "Parameter \"flow_id\": %s is too large for a flow.", r.FlowId)
	}
	f, err := e.s.opt.Flows.Flow(ctx, r.CaptureId, id)
	if errors.Is(err, ErrNotFound) {
		err = problemf(kindNotFound, "The capture has no flow %s.", r.FlowId)
	}
	return api.GetFlow200JSONResponse(f), err
}

// checkSpan refuses a span of time that ends before it begins.
func checkSpan(from, to *time.Time) error {
	if from != nil && to != nil && !from.Before(*to) {
		return problemf(kindInvalid, "Parameter \"to\": it must be after \"from\".")
	}
	return nil
}

// GetThroughput answers GET /captures/{capture_id}/throughput.
func (e *endpoint) GetThroughput(ctx context.Context, r api.GetThroughputRequestObject) (api.GetThroughputResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	if err := checkSpan(r.Params.From, r.Params.To); err != nil {
		return nil, err
	}
	t, err := e.s.opt.Flows.Throughput(ctx, r.CaptureId, r.Params)
	return api.GetThroughput200JSONResponse(t), err
}

// ListPackets answers GET /captures/{capture_id}/packets.
func (e *endpoint) ListPackets(ctx context.Context, r api.ListPacketsRequestObject) (api.ListPacketsResponseObject, error) {
	c, err := e.s.library.account(ctx, r.CaptureId)
	if err != nil {
		return nil, err
	}
	if err := checkSpan(r.Params.From, r.Params.To); err != nil {
		return nil, err
	}
	path, err := e.s.library.file(r.CaptureId)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	p, err := e.s.opt.Packets.ListPackets(ctx, c, path, r.Params)
	return api.ListPackets200JSONResponse(p), err
}

// GetPacket answers GET /captures/{capture_id}/packets/{number}.
func (e *endpoint) GetPacket(ctx context.Context, r api.GetPacketRequestObject) (api.GetPacketResponseObject, error) {
	c, err := e.s.library.account(ctx, r.CaptureId)
	if err != nil {
		return nil, err
	}
	path, err := e.s.library.file(r.CaptureId)
	if err != nil {
		if errors.Is(err, ErrNotFound) {
			err = problemf(kindNotFound, "The file of this capture is no longer in the data directory, so its bytes cannot be shown.")
		}
		return nil, err
	}
	p, err := e.s.opt.Packets.Packet(ctx, c, path, r.Number)
	if errors.Is(err, ErrNotFound) {
		err = problemf(kindNotFound, "The capture has no packet %d.", r.Number)
	}
	return api.GetPacket200JSONResponse(p), err
}

// RunQuery answers POST /query.
func (e *endpoint) RunQuery(ctx context.Context, r api.RunQueryRequestObject) (api.RunQueryResponseObject, error) {
	if e.s.opt.Queries == nil {
		return nil, problemf(kindUnavailable, "%s", e.s.opt.QueriesOff)
	}
	if strings.TrimSpace(r.Body.Sql) == "" {
		return nil, problemf(kindInvalid, "The body: \"sql\" is empty.")
	}
	if f := r.Body.Format; f != nil && *f != api.Result {
		return &exportAnswer{ctx: ctx, queries: e.s.opt.Queries, sql: r.Body.Sql, format: *f}, nil
	}
	maxRows := 10_000
	if r.Body.MaxRows != nil {
		maxRows = *r.Body.MaxRows
	}
	result, err := e.s.opt.Queries.Query(ctx, r.Body.Sql, maxRows)
	return api.RunQuery200JSONResponse(result), err
}

// exportAnswer streams a whole result. Its status is decided by the first bytes, or by the refusal before them.
type exportAnswer struct {
	ctx     context.Context //nolint:containedctx // lives as long as one answer
	queries Queries
	sql     string
	format  api.QueryRequestFormat
	out     http.ResponseWriter
	began   bool
}

// VisitRunQueryResponse implements api.RunQueryResponseObject.
func (a *exportAnswer) VisitRunQueryResponse(w http.ResponseWriter) error {
	a.out = w
	if err := a.queries.Export(a.ctx, a.sql, a.format, a); err != nil {
		return err
	}
	a.begin()
	return nil
}

var _ io.Writer = (*exportAnswer)(nil)

// Write sends bytes of the result.
func (a *exportAnswer) Write(p []byte) (int, error) {
	a.begin()
	return a.out.Write(p)
}

func (a *exportAnswer) begin() {
	if a.began {
		return
	}
	a.began = true
	contentType, ending := "application/x-ndjson", "ndjson"
	if a.format == api.Csv {
		contentType, ending = "text/csv", "csv"
	}
	a.out.Header().Set("Content-Type", contentType)
	a.out.Header().Set("Content-Disposition", `attachment; filename="query.`+ending+`"`)
	a.out.WriteHeader(http.StatusOK)
}

// ListQueryExamples answers GET /query/examples.
func (e *endpoint) ListQueryExamples(context.Context, api.ListQueryExamplesRequestObject) (api.ListQueryExamplesResponseObject, error) {
	return api.ListQueryExamples200JSONResponse(QueryExamples()), nil
}

// GetSchema answers GET /schema.
func (e *endpoint) GetSchema(ctx context.Context, _ api.GetSchemaRequestObject) (api.GetSchemaResponseObject, error) {
	if e.s.opt.Queries == nil {
		return nil, problemf(kindUnavailable, "%s", e.s.opt.QueriesOff)
	}
	tables, err := e.s.opt.Queries.Tables(ctx)
	return api.GetSchema200JSONResponse(tables), err
}

// GetService answers GET /service.
func (e *endpoint) GetService(ctx context.Context, _ api.GetServiceRequestObject) (api.GetServiceResponseObject, error) {
	service, err := e.s.service(ctx)
	return api.GetService200JSONResponse(service), err
}

// GetHealth answers GET /healthz.
func (e *endpoint) GetHealth(ctx context.Context, _ api.GetHealthRequestObject) (api.GetHealthResponseObject, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := e.s.opt.Database.Version(ctx); err != nil {
		return nil, &problem{kind: kindUnavailable, detail: "The database does not answer.", cause: err}
	}
	return api.GetHealth200JSONResponse{Status: api.HealthStatusOk}, nil
}
