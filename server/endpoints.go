package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/server/openapi"
)

// basePath is where the API's document begins.
const basePath = "/api/v1"

// endpoints is the handler of the API's document.
func (s *Server) endpoints() (http.Handler, error) {
	document, err := api.Document()
	if err != nil {
		return nil, fmt.Errorf("the API's document: %w", err)
	}
	strict := api.NewStrictHandlerWithOptions(&endpoint{s}, nil, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  func(w http.ResponseWriter, r *http.Request, err error) { s.writeProblem(w, r, invalid(err)) },
		ResponseErrorHandlerFunc: s.brokenAnswer,
	})
	generated := api.HandlerWithOptions(strict, api.StdHTTPServerOptions{
		BaseURL:          basePath,
		ErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) { s.writeProblem(w, r, invalid(err)) },
	})
	mux := http.NewServeMux()
	for _, operation := range document.Operations() {
		if !slices.Contains(operation.Tags, "uploads") {
			mux.Handle(operation.Method+" "+basePath+operation.Path, s.admitted(newAdmission(operation), generated))
		}
	}
	return s.routed(mux), nil
}

// routed answers what no route is for with problems.
func (s *Server) routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		plain := refusal{}
		refuse.ServeHTTP(plain, r)
		allowed := http.Header(plain).Get("Allow")
		if allowed == "" {
			s.notFound(w, r)
			return
		}
		w.Header().Set("Allow", allowed)
		s.writeProblem(w, r, problemf(kindMethod, "%s is not possible here; allowed: %s.", r.Method, allowed))
	})
}

// refusal takes the mux's own answer in plain text, of which the header counts.
type refusal http.Header

func (h refusal) Header() http.Header         { return http.Header(h) }
func (h refusal) Write(p []byte) (int, error) { return len(p), nil }
func (h refusal) WriteHeader(int)             {}

// beginning is a ResponseWriter that remembers whether the answer has begun.
type beginning struct {
	http.ResponseWriter
	began bool
}

func (b *beginning) WriteHeader(status int) {
	b.began = true
	b.ResponseWriter.WriteHeader(status)
}

func (b *beginning) Write(p []byte) (int, error) {
	b.began = true
	return b.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (b *beginning) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// brokenAnswer handles errors of handlers, and of answers that may have begun.
func (s *Server) brokenAnswer(w http.ResponseWriter, r *http.Request, err error) {
	if b, ok := w.(*beginning); !ok || !b.began {
		s.writeProblem(w, r, err)
		return
	}
	s.log.LogAttrs(r.Context(), slog.LevelDebug, "answer broken off", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
	// The client must not take a part for the whole.
	panic(http.ErrAbortHandler)
}

// admission is what the document says of a route.
type admission struct {
	operation *openapi.Operation
	query     []string // names of its parameters
	rawBody   bool     // the body is a file
	transfer  bool     // takes as long as it takes
	timeout   time.Duration
}

// admitted validates requests by the document, and bounds their bodies and their time.
func (s *Server) admitted(a *admission, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nameRoute(r.Context(), basePath+a.operation.Path)
		w.Header().Set("Cache-Control", "no-store")
		ctx := context.WithValue(r.Context(), requestKey{}, r)
		if !a.transfer {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, a.timeout)
			defer cancel()
		}
		r = r.WithContext(ctx)
		if !a.rawBody && r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxJSONBody)
		}
		if err := a.validate(r); err != nil {
			s.writeProblem(w, r, invalid(err))
			return
		}
		next.ServeHTTP(&beginning{ResponseWriter: w}, r)
	})
}

func newAdmission(operation *openapi.Operation) *admission {
	a := &admission{operation: operation, timeout: requestTimeout}
	for _, p := range operation.Parameters {
		if p.In == "query" {
			a.query = append(a.query, p.Name)
		}
	}
	switch operation.ID {
	case "createCapture":
		a.rawBody, a.transfer = true, true
	case "ingestBatches":
		a.rawBody = true
	case "downloadCapture", "watchAgents", "watchAgent":
		a.transfer = true
	case "runQuery", "deleteCapture", "cancelCapture":
		a.timeout = queryTimeout
	}
	return a
}

func (a *admission) validate(r *http.Request) error {
	for name := range r.URL.Query() {
		if !slices.Contains(a.query, name) {
			if len(a.query) == 0 {
				return problemf(kindInvalid, "There is no parameter %q here, nor any other.", name)
			}
			return problemf(kindInvalid, "There is no parameter %q here; there are %s.", name, strings.Join(a.query, ", "))
		}
	}
	if err := a.operation.CheckParameters(r); err != nil {
		return err
	}
	if !a.rawBody {
		return a.operation.CheckBody(r)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && strings.HasPrefix(kind, "multipart/") {
		return problemf(kindMediaType, "Send the file as the body itself, not as a form: curl --data-binary @FILE -H 'Content-Type: application/octet-stream'.")
	}
	return nil
}

// wrongForm is how the generated code says that it could not read a parameter.
var wrongForm = regexp.MustCompile(`^Invalid format for parameter (\w+):`)

// invalid says in one sentence what is wrong with a request.
func invalid(err error) error {
	var p *problem
	var tooLarge *http.MaxBytesError
	var wrong *openapi.InvalidError
	switch {
	case errors.As(err, &p), errors.As(err, &tooLarge):
		return err
	case errors.Is(err, openapi.ErrMediaType):
		return &problem{kind: kindMediaType, detail: "The body must be JSON, with Content-Type: application/json.", cause: err}
	case !errors.As(err, &wrong):
		detail := capitalized(err.Error())
		if m := wrongForm.FindStringSubmatch(err.Error()); m != nil {
			detail = fmt.Sprintf("Parameter %q: it does not have the form that the API's document gives it.", m[1])
		}
		return &problem{kind: kindInvalid, detail: detail, cause: err}
	case wrong.Parameter == "":
		return &problem{kind: kindInvalid, detail: fmt.Sprintf("The body: %s.", wrong.Reason), cause: err}
	}
	return &problem{kind: kindInvalid, detail: fmt.Sprintf("Parameter %q: %s.", wrong.Parameter, wrong.Reason), cause: err}
}
