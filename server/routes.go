package server

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// routes puts together everything that is served.
func (s *Server) routes() (http.Handler, error) {
	endpoints, err := s.endpoints()
	if err != nil {
		return nil, err
	}
	docs, err := newDocs(s)
	if err != nil {
		return nil, err
	}
	site, err := newConsole(s)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(uploadsPath, s.uploads)
	mux.Handle(strings.TrimSuffix(uploadsPath, "/"), s.uploads)
	mux.Handle(basePath+"/", endpoints)
	mux.Handle("/api/docs", s.readOnly("/api/docs", http.HandlerFunc(docs.page)))
	mux.Handle("/api/openapi.yaml", s.readOnly("/api/openapi.yaml", http.HandlerFunc(docs.yaml)))
	mux.Handle("/api/openapi.json", s.readOnly("/api/openapi.json", http.HandlerFunc(docs.json)))
	mux.Handle("/metrics", s.readOnly("/metrics", s.metrics.handler()))
	mux.Handle("/api/", http.HandlerFunc(s.notFound))
	mux.Handle("/", s.readOnly("/", site))

	compressed, err := gzhttp.NewWrapper(
		gzhttp.MinSize(1400), // less than a packet gains nothing
		gzhttp.ContentTypes([]string{
			"application/json", "application/problem+json", "application/x-ndjson", "application/yaml", "application/javascript",
			"text/javascript", "text/css", "text/html", "text/csv", "text/plain", "image/svg+xml", "application/manifest+json",
		}),
	)
	if err != nil {
		return nil, err
	}
	zip := compressed(mux)
	return s.observed(s.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The upload protocol needs the bare connection, and its answers are a few bytes. Events must not wait for more to
		// be compressed with.
		if strings.HasPrefix(r.URL.Path, strings.TrimSuffix(uploadsPath, "/")) || strings.HasSuffix(r.URL.Path, "/live") {
			mux.ServeHTTP(w, r)
			return
		}
		zip.ServeHTTP(w, r)
	}))), nil
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.writeProblem(w, r, problemf(kindNotFound, "Nothing is at %s; /api/docs lists what there is.", r.URL.Path))
}

// readOnly answers GET and HEAD under a route's name.
func (s *Server) readOnly(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nameRoute(r.Context(), name)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.writeProblem(w, r, problemf(kindMethod, "%s is not possible here.", r.Method))
			return
		}
		next.ServeHTTP(w, r)
	})
}
