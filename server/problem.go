package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/rocelens/rocelens/server/api"
)

// problemKind is a kind of problem that the documentation page explains.
type problemKind struct {
	Slug   string
	Status int
	Title  string
	Advice string
}

// The kinds of problems. Their type in an answer is "/api/docs#problem-" and the slug.
var (
	kindInvalid      = problemKind{"invalid-request", http.StatusBadRequest, "The request is not valid", "The detail names the parameter or field. The API's document says what it may be."}
	kindUnauthorized = problemKind{"unauthorized", http.StatusUnauthorized, "The token is missing or wrong", "Agents carry the token that the service was started with: --server-token-file here, --ingest-token-file there."}
	kindCrossSite    = problemKind{"cross-site", http.StatusForbidden, "Refused because it came from another site", "A browser sent this on behalf of a page of another origin. Programs that are no browser are not concerned."}
	kindNotFound     = problemKind{"not-found", http.StatusNotFound, "Not found", "It never existed, or was deleted."}
	kindMethod       = problemKind{"method-not-allowed", http.StatusMethodNotAllowed, "Method not allowed", "The Allow header lists what this address takes."}
	kindConflict     = problemKind{"conflict", http.StatusConflict, "Not possible in this state", "The detail says which state the capture or upload is in."}
	kindPrecond      = problemKind{"upload-protocol", http.StatusPreconditionFailed, "The upload protocol's version is missing", "Resumable uploads need the header Tus-Resumable: 1.0.0."}
	kindTooLarge     = problemKind{"too-large", http.StatusRequestEntityTooLarge, "Too large", "Raise --max-upload, or split the capture (editcap -c)."}
	kindMediaType    = problemKind{"media-type", http.StatusUnsupportedMediaType, "The body has the wrong type", "Send JSON where the document says JSON, and a capture as the plain body, not as a form."}
	kindHost         = problemKind{"unknown-host", http.StatusMisdirectedRequest, "Not served under this name", "Names that a browser may use for this service are given with --allow-host, so that no other site can pretend to be it."}
	kindQuery        = problemKind{"query-refused", http.StatusBadRequest, "The database refused the query", "The detail is the database's own reason and code its number."}
	kindQueryRights  = problemKind{"query-not-permitted", http.StatusForbidden, "The database does not permit this query", "Queries may read rocelens' own tables and nothing else."}
	kindQueryLimit   = problemKind{"query-limit", http.StatusUnprocessableEntity, "The query went over a limit", "Time, memory and rows are limited. Ask for less: filter by capture_id, aggregate, add a LIMIT."}
	kindLocked       = problemKind{"upload-locked", http.StatusLocked, "The upload is being written by another request", "Try again in a moment."}
	kindInternal     = problemKind{"internal", http.StatusInternalServerError, "Something went wrong in the service", "The service's log has the details."}
	kindUnavailable  = problemKind{"unavailable", http.StatusServiceUnavailable, "Not available now", "The database does not answer, or the service is stopping. Try again."}
	kindTimeout      = problemKind{"timeout", http.StatusGatewayTimeout, "It took too long", "The service gave up. Ask for less, or try again."}
	kindDiskFull     = problemKind{"disk-full", http.StatusInsufficientStorage, "No room on the disk", "Delete captures, or give the data directory a larger disk."}
)

var problemKinds = []problemKind{
	kindInvalid, kindUnauthorized, kindCrossSite, kindNotFound, kindMethod, kindConflict, kindPrecond, kindTooLarge, kindMediaType, kindHost,
	kindQuery, kindQueryRights, kindQueryLimit, kindLocked, kindInternal, kindUnavailable, kindTimeout, kindDiskFull,
}

// problem is an error that is answered as it stands.
type problem struct {
	kind   problemKind
	detail string
	code   *int
	cause  error // for the log
}

func (p *problem) Error() string {
	if p.cause != nil {
		return fmt.Sprintf("%s: %v", p.detail, p.cause)
	}
	return p.detail
}

func (p *problem) Unwrap() error { return p.cause }

func problemf(kind problemKind, format string, args ...any) *problem {
	return &problem{kind: kind, detail: fmt.Sprintf(format, args...)}
}

// asProblem finds the answer to an error.
func asProblem(err error) *problem {
	var p *problem
	var query *QueryError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &query):
		return queryProblem(query)
	case errors.As(err, &tooLarge):
		return problemf(kindTooLarge, "The body is larger than %s.", byteSize(tooLarge.Limit))
	case errors.Is(err, ErrBadRequest):
		return &problem{kind: kindInvalid, detail: capitalized(strings.TrimPrefix(err.Error(), ErrBadRequest.Error()+": ")), cause: err}
	case errors.Is(err, ErrUnavailable):
		return &problem{kind: kindUnavailable, detail: "The database does not answer. Try again in a moment.", cause: err}
	case errors.Is(err, ErrNotFound):
		return problemf(kindNotFound, "There is no such thing here.")
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{kind: kindTimeout, detail: "The service gave up waiting.", cause: err}
	case errors.Is(err, context.Canceled):
		return &problem{kind: kindUnavailable, detail: "The request was cancelled.", cause: err}
	}
	return &problem{kind: kindInternal, detail: "The request could not be carried out; the service's log says why.", cause: err}
}

// ClickHouse error codes that are answered in their own way; src/Common/ErrorCodes.cpp lists them all.
const (
	codeTooManyRows    = 158
	codeTimeout        = 159
	codeReadonly       = 164
	codeMemoryLimit    = 241
	codeTooManyBytes   = 307
	codeQueryCancelled = 394
	codeTooManyResult  = 396
	codeAccessDenied   = 497
)

func queryProblem(e *QueryError) *problem {
	kind := kindQuery
	switch e.Code {
	case codeReadonly, codeAccessDenied:
		kind = kindQueryRights
	case codeTooManyRows, codeTimeout, codeMemoryLimit, codeTooManyBytes, codeQueryCancelled, codeTooManyResult:
		kind = kindQueryLimit
	}
	if e.NoFiles {
		kind = kindQueryRights
	}
	p := &problem{kind: kind, detail: e.Message}
	if e.Code != 0 {
		p.code = &e.Code
	}
	return p
}

// body is the document that goes over the wire.
func (p *problem) body(instance string) api.Problem {
	b := api.Problem{Type: "/api/docs#problem-" + p.kind.Slug, Title: p.kind.Title, Status: p.kind.Status, Code: p.code}
	if p.detail != "" {
		b.Detail = &p.detail
	}
	if instance != "" {
		b.Instance = &instance
	}
	return b
}

// writeProblem answers an error, and logs it when it is the service's own fault.
func (s *Server) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := asProblem(err)
	if p.kind.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("method", r.Method),
			slog.String("path", r.URL.Path), slog.Int("status", p.kind.Status), slog.String("error", err.Error()))
	}
	h := w.Header()
	h.Del("Content-Length")
	h.Del("Content-Disposition")
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.kind.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "2")
	}
	if p.kind.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.kind.Status)
	if r.Method == http.MethodHead {
		return
	}
	if err := json.NewEncoder(w).Encode(p.body(r.URL.Path)); err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelDebug, "problem not sent", slog.String("error", err.Error()))
	}
}
