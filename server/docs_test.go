package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
)

func TestDocumentIsValidOpenAPI(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(api.YAML)
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	require.Equal(t, "3.1.0", document.OpenAPI)
}

func TestDocumentationPageShowsEverythingOfTheDocument(t *testing.T) {
	s := &Server{opt: Options{Version: "v1.2.3"}}
	d, err := newDocs(s)
	require.NoError(t, err)
	recorder := httptest.NewRecorder()
	d.page(recorder, httptest.NewRequest(http.MethodGet, "/api/docs", nil))
	require.Equal(t, http.StatusOK, recorder.Code)
	require.Equal(t, "text/html; charset=utf-8", recorder.Header().Get("Content-Type"))
	html, err := io.ReadAll(recorder.Body)
	require.NoError(t, err)
	page := string(html)

	document, err := api.Document()
	require.NoError(t, err)
	for _, operation := range document.Operations() {
		require.Contains(t, page, `<article id="`+operation.ID+`">`, "%s %s", operation.Method, operation.Path)
		require.Contains(t, page, operation.Summary)
	}
	for name := range document.Components.Schemas {
		require.Contains(t, page, `<article id="schema-`+name+`">`)
	}
	for _, kind := range problemKinds {
		require.Contains(t, page, `id="problem-`+kind.Slug+`"`)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.False(t, ids[m[1]], "the id %s is there twice", m[1])
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.True(t, ids[m[1]], "the link to #%s leads nowhere", m[1])
	}
	require.NotContains(t, page, "://cdn", "the page loads nothing from elsewhere")
	require.NotContains(t, page, "<script")
	require.Contains(t, page, "rocelens v1.2.3")
}

func TestDocumentationPageCallsTheAddressThatTheReaderUses(t *testing.T) {
	d, err := newDocs(&Server{})
	require.NoError(t, err)
	for _, tc := range []struct{ host, scheme, want string }{
		{"gpu-17:9000", "", "curl http://gpu-17:9000/api/v1/captures"},
		{"lens.example", "https", "curl https://lens.example/api/v1/captures"},
		{"<b>", "", "curl http://&lt;b&gt;/api/v1/captures"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/docs", nil)
		r.Host = tc.host
		r.Header.Set("X-Forwarded-Proto", tc.scheme)
		recorder := httptest.NewRecorder()
		d.page(recorder, r)
		require.Contains(t, recorder.Body.String(), "<code>"+tc.want+"</code>")
		require.NotContains(t, recorder.Body.String(), exampleAddress)
		require.Equal(t, docsPolicy, recorder.Header().Get("Content-Security-Policy"))

		r.Header.Set("If-None-Match", recorder.Header().Get("Etag"))
		again := httptest.NewRecorder()
		d.page(again, r)
		require.Equal(t, http.StatusNotModified, again.Code)
	}
}

func TestDocumentationPageIsCached(t *testing.T) {
	d, err := newDocs(&Server{})
	require.NoError(t, err)
	first := httptest.NewRecorder()
	d.yaml(first, httptest.NewRequest(http.MethodGet, "/api/openapi.yaml", nil))
	require.Equal(t, string(api.YAML), first.Body.String())
	again := httptest.NewRequest(http.MethodGet, "/api/openapi.yaml", nil)
	again.Header.Set("If-None-Match", first.Header().Get("Etag"))
	second := httptest.NewRecorder()
	d.yaml(second, again)
	require.Equal(t, http.StatusNotModified, second.Code)
	require.Zero(t, second.Body.Len())
}

func TestParagraphs(t *testing.T) {
	require.Equal(t, []string{"One line.", "Two lines."}, paragraphs("One\nline.\n\nTwo lines.\n"))
	require.Empty(t, paragraphs(strings.Repeat("\n", 4)))
}
