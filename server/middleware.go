package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"
)

// answer is a ResponseWriter that remembers what was answered, and keeps each write to a time limit of its own, so
// that a long download may take hours and a dead one may not.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	bytes   int64
}

func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK && a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if err := a.control.SetWriteDeadline(time.Now().Add(transferTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

type routeKey struct{}

// route is filled in by whoever answers, for metrics and the log.
type route struct{ name string }

// nameRoute tells which route answers a request.
func nameRoute(ctx context.Context, name string) {
	if r, ok := ctx.Value(routeKey{}).(*route); ok {
		r.name = name
	}
}

// observed logs and counts, gives time limits, and turns panics into problems.
func (s *Server) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		a := &answer{ResponseWriter: w, control: http.NewResponseController(w)}
		// For answers without a body, whose header is written by the server after the handler.
		if err := a.control.SetWriteDeadline(began.Add(queryTimeout + transferTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			s.log.LogAttrs(r.Context(), slog.LevelDebug, "no write deadline", slog.String("error", err.Error()))
		}
		named := &route{name: "other"}
		r = r.WithContext(context.WithValue(r.Context(), routeKey{}, named))
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &timedBody{ReadCloser: r.Body, control: a.control}
		}
		defer func() { //nolint:contextcheck // it uses the request's
			thrown := recover()
			aborted := thrown == http.ErrAbortHandler //nolint:errorlint,err113 // compared as net/http compares it
			if thrown != nil && !aborted {
				s.log.LogAttrs(r.Context(), slog.LevelError, "handler panicked", slog.String("path", r.URL.Path),
					slog.Any("panic", thrown), slog.String("stack", string(debug.Stack())))
				if a.status == 0 {
					s.writeProblem(a, r, problemf(kindInternal, "The service made a mistake; its log has the details."))
				} else {
					aborted = true // half an answer must not look whole
				}
			}
			took := time.Since(began)
			s.metrics.observe(named.name, methodLabel(r.Method), a.status, took)
			s.log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method), slog.String("path", r.URL.Path),
				slog.Int("status", a.status), slog.Int64("bytes", a.bytes), slog.Duration("took", took), slog.String("remote", r.RemoteAddr))
			if aborted {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(a, r)
		if a.status == 0 {
			a.status = http.StatusOK
		}
	})
}

// methodLabel keeps made-up methods out of the metrics.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// guarded refuses what a page of another site may have sent: writes by their origin, and everything under a name that
// is not ours, because such a name may have been pointed here to make that site "the same" (DNS rebinding).
func (s *Server) guarded(next http.Handler) http.Handler {
	sameOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.allowedHost(r.Host) {
			s.writeProblem(w, r, problemf(kindHost, "This service is not known as %q. If that is its name, start it with --allow-host %s.", r.Host, hostOf(r.Host)))
			return
		}
		if err := sameOrigin.Check(r); err != nil {
			s.writeProblem(w, r, &problem{kind: kindCrossSite, detail: "A page of another site may not write here.", cause: err})
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		next.ServeHTTP(w, r)
	})
}

func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(strings.TrimSuffix(host, "."), "[]"))
}

// allowedHost: an address cannot be pointed elsewhere, localhost never leaves the machine, and a name without a dot is
// nobody's on the Internet.
func (s *Server) allowedHost(hostport string) bool {
	host := hostOf(hostport)
	if host != "" && !strings.ContainsAny(host, ".:") || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for _, allowed := range s.opt.AllowedHosts {
		if strings.EqualFold(host, allowed) || allowed == "*" {
			return true
		}
	}
	return false
}
