package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

// console serves the built web console. Addresses of its pages are all answered with index.html.
type console struct {
	s     *Server
	files map[string]asset // by path, without a leading slash
}

type asset struct {
	content     []byte
	contentType string
	etag        string
	immutable   bool   // its name changes when its content does
	policy      string // Content-Security-Policy, of pages
}

const indexFile = "index.html"

// Mantine and CodeMirror set styles at run time; scripts come from files alone, or are named by their hash.
const consolePolicy = "default-src 'self'; script-src 'self'%s; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
	"font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

func newConsole(s *Server) (*console, error) {
	c := &console{s: s, files: map[string]asset{}}
	if s.opt.Console == nil {
		return c, nil
	}
	err := fs.WalkDir(s.opt.Console, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		content, err := fs.ReadFile(s.opt.Console, name)
		if err != nil {
			return err
		}
		c.files[name] = newAsset(name, content)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("web console: %w", err)
	}
	return c, nil
}

func newAsset(name string, content []byte) asset {
	sum := sha256.Sum256(content)
	a := asset{
		content:     content,
		contentType: mediaType(name),
		etag:        `"` + hex.EncodeToString(sum[:12]) + `"`,
		immutable:   strings.HasPrefix(name, "assets/"),
	}
	if path.Ext(name) == ".html" {
		a.policy = fmt.Sprintf(consolePolicy, scriptHashes(content))
	}
	return a
}

// mediaType does not ask the system's table, which may be missing or wrong.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".json", ".map":
		return "application/json"
	case ".webmanifest":
		return "application/manifest+json"
	case ".txt", ".md":
		return "text/plain; charset=utf-8"
	case ".wasm":
		return "application/wasm"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

var inlineScript = regexp.MustCompile(`(?is)<script((?:\s[^>]*)?)>(.*?)</script>`)

// scriptHashes allows the scripts that stand in the page itself, and no others.
func scriptHashes(page []byte) string {
	var hashes strings.Builder
	for _, script := range inlineScript.FindAllSubmatch(page, -1) {
		if len(script[2]) == 0 || bytes.Contains(bytes.ToLower(script[1]), []byte("src=")) {
			continue
		}
		sum := sha256.Sum256(script[2])
		fmt.Fprintf(&hashes, " 'sha256-%s'", base64.StdEncoding.EncodeToString(sum[:]))
	}
	return hashes.String()
}

// ServeHTTP serves a file, a page, or says that there is none.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	a, found := c.files[name]
	if !found && isPage(name, r) {
		a, found = c.files[indexFile]
		if !found {
			c.unbuilt(w)
			return
		}
	}
	if !found {
		c.s.writeProblem(w, r, problemf(kindNotFound, "Nothing is at %s.", r.URL.Path))
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Etag", a.etag)
	if a.policy != "" {
		h.Set("Content-Security-Policy", a.policy)
	}
	h.Set("Cache-Control", "no-cache")
	if a.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}

// isPage tells addresses of the console's views from files that are missing.
func isPage(name string, r *http.Request) bool {
	if strings.HasPrefix(name, "assets/") || strings.HasPrefix(name, "api/") {
		return false
	}
	accept := r.Header.Get("Accept")
	return path.Ext(name) == "" && (accept == "" || strings.Contains(accept, "text/html") || strings.Contains(accept, "*/*"))
}

const unbuiltPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>rocelens</title>
<meta name="color-scheme" content="light dark"><body><h1>rocelens</h1>
<p>This program was built without the web console. Build it with <code>make</code>, then start it again.</p>
<p>The API works: <a href="/api/docs">its documentation</a>.</p></body></html>
`

func (c *console) unbuilt(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if _, err := w.Write([]byte(unbuiltPage)); err != nil && !errors.Is(err, http.ErrHandlerTimeout) {
		c.s.log.Debug("page not sent")
	}
}
