package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAllowedHosts(t *testing.T) {
	s := &Server{opt: Options{AllowedHosts: []string{"rocelens.corp.example"}}}
	for host, want := range map[string]bool{
		"127.0.0.1:8790": true, "[::1]:8790": true, "localhost:8790": true, "LOCALHOST": true, "a.localhost:1": true, "10.0.0.7": true,
		"gpu-17:8790":           true,
		"rocelens.corp.example": true, "Rocelens.Corp.Example:443": true, "rocelens.corp.example.": true,
		"evil.example:8790": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "": false,
	} {
		require.Equal(t, want, s.allowedHost(host), "%q", host)
	}
}

func TestPanicsAreAnsweredAsProblems(t *testing.T) {
	s := &Server{metrics: newMetrics()}
	s.opt.setDefaults()
	s.log = s.opt.Logger
	h := s.observed(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("of a test") }))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.NotContains(t, w.Body.String(), "of a test", "what went wrong inside is for the log")

	half := s.observed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte("half")); err != nil {
			panic(err)
		}
		panic("of a test")
	}))
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		half.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}, "half an answer is broken off")
}
