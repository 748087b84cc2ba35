package server

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func testConsole(t *testing.T, files fstest.MapFS) http.Handler {
	t.Helper()
	s := &Server{opt: Options{Console: files}}
	s.opt.setDefaults()
	s.log = s.opt.Logger
	c, err := newConsole(s)
	require.NoError(t, err)
	return c
}

func get(t *testing.T, h http.Handler, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestConsole(t *testing.T) {
	const script = "document.documentElement.dataset.theme='dark'"
	h := testConsole(t, fstest.MapFS{
		"index.html":          {Data: []byte(`<script>` + script + `</script><script type="module" src="/assets/app-1a2b.js"></script>`)},
		"assets/app-1a2b.js":  {Data: []byte("export{}")},
		"assets/app-1a2b.css": {Data: []byte("a{}")},
		"favicon.svg":         {Data: []byte("<svg/>")},
		".gitkeep":            {},
	})

	for _, page := range []string{"/", "/captures/0199/flows?sort=bytes", "/query", "/index.html"} {
		w := get(t, h, page, "text/html,*/*;q=0.8")
		require.Equal(t, http.StatusOK, w.Code, page)
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"), page)
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"), page)
		sum := sha256.Sum256([]byte(script))
		policy := w.Header().Get("Content-Security-Policy")
		require.Contains(t, policy, "script-src 'self' 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';")
		require.NotContains(t, policy, "unsafe-eval")
	}

	w := get(t, h, "/assets/app-1a2b.js", "")
	require.Equal(t, "text/javascript; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, "public, max-age=31536000, immutable", w.Header().Get("Cache-Control"))
	require.Equal(t, "export{}", w.Body.String())

	for _, missing := range []string{"/assets/app-old.js", "/favicon.png", "/.gitkeep", "/captures/x.json"} {
		w := get(t, h, missing, "*/*")
		require.Equal(t, http.StatusNotFound, w.Code, missing)
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), missing)
	}
}

func TestConsoleThatWasNotBuiltSaysSo(t *testing.T) {
	w := get(t, testConsole(t, fstest.MapFS{".gitkeep": {}}), "/", "text/html")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "Build it with <code>make</code>")
}
