package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/memorylocker"
	tusslog "golang.org/x/exp/slog"

	"github.com/rocelens/rocelens/server/api"
)

// headerCaptureID names the capture that an upload became.
const headerCaptureID = "Rocelens-Capture-Id"

// headerCaptureKnown is sent when that capture is of an earlier upload of the same file.
const headerCaptureKnown = "Rocelens-Capture-Known"

const uploadsPath = "/api/v1/uploads/"

// uploads receives files by the tus protocol. What has arrived survives restarts.
type uploads struct {
	s      *Server
	store  *hashingStore
	tus    *handler.UnroutedHandler
	routed http.Handler

	finishing sync.Mutex // one upload is turned into a capture at a time

	mu       sync.Mutex
	active   map[*transfer]struct{}
	stopping bool
}

var uploadID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func newUploads(s *Server) (*uploads, error) {
	u := &uploads{s: s, active: map[*transfer]struct{}{}}
	files := filestore.New(s.opt.uploadDir())
	files.DirModePerm, files.FileModePerm = 0o750, 0o640
	u.store = &hashingStore{FileStore: files, opt: &s.opt, received: s.metrics.uploadBytes.Add}
	composer := handler.NewStoreComposer()
	composer.UseCore(u.store)
	composer.UseTerminater(u.store)
	composer.UseLocker(yieldingLocker{memorylocker.New()})
	var err error
	u.tus, err = handler.NewUnroutedHandler(handler.Config{
		StoreComposer:                    composer,
		BasePath:                         uploadsPath,
		MaxSize:                          max(s.opt.MaxUpload, 0),
		DisableDownload:                  true,
		DisableConcatenation:             true,
		Cors:                             &handler.CorsConfig{Disable: true},
		NetworkTimeout:                   transferTimeout,
		GracefulRequestCompletionTimeout: time.Second,
		Logger:                           tusslog.New(tusslog.NewTextHandler(io.Discard, nil)),
		PreUploadCreateCallback:          u.created,
		PreFinishResponseCallback:        u.finished,
	})
	if err != nil {
		return nil, fmt.Errorf("upload handler: %w", err)
	}
	u.routed = http.StripPrefix(strings.TrimSuffix(uploadsPath, "/"), u.tus.Middleware(http.HandlerFunc(u.route)))
	return u, nil
}

// ServeHTTP wraps the tus handler so that its answers look like all others.
func (u *uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nameRoute(r.Context(), "/api/v1/uploads")
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	body, _ := r.Body.(*timedBody)
	t := &transfer{body: body, cancel: cancel}
	u.begin(t)
	defer u.end(t)
	if r.URL.Path+"/" == uploadsPath {
		r.URL.Path = uploadsPath
	}
	out := &tusAnswer{ResponseWriter: w, s: u.s, r: r}
	u.routed.ServeHTTP(out, r.WithContext(context.WithValue(ctx, transferKey{}, t)))
	out.finish()
	if body == nil {
		return
	}
	if err := body.abandon(); err != nil {
		u.s.log.LogAttrs(ctx, slog.LevelDebug, "body not abandoned", slog.String("error", err.Error()))
	}
}

func (u *uploads) begin(t *transfer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.active[t] = struct{}{}
	if u.stopping {
		t.interrupt(handler.ErrServerShutdown)
	}
}

func (u *uploads) end(t *transfer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.active, t)
}

// interrupt ends the requests that send bytes, now and from now on; what has arrived is kept.
func (u *uploads) interrupt() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopping = true
	for t := range u.active {
		t.interrupt(handler.ErrServerShutdown)
	}
}

func (u *uploads) route(w http.ResponseWriter, r *http.Request) {
	id := strings.Trim(r.URL.Path, "/")
	if id == "" {
		if r.Method == http.MethodPost {
			u.tus.PostFile(w, r)
			return
		}
		w.Header().Set("Allow", "OPTIONS, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if !uploadID.MatchString(id) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodHead:
		u.head(w, r, id)
	case http.MethodPatch:
		u.tus.PatchFile(w, r)
	case http.MethodDelete:
		u.tus.DelFile(w, r)
	default:
		w.Header().Set("Allow", "DELETE, HEAD, OPTIONS, PATCH")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// head answers for uploads that are whole: the answer to the last bytes may have been lost on its way, or their
// capture may not have been made yet because the database was away.
func (u *uploads) head(w http.ResponseWriter, r *http.Request, id string) {
	info, err := u.store.info(id)
	if err != nil || info.Offset != info.Size {
		u.tus.HeadFile(w, r)
		return
	}
	capture, err := u.finish(r.Context(), info)
	if err != nil {
		u.s.log.LogAttrs(r.Context(), slog.LevelError, "upload not taken in", slog.String("upload", id), slog.String("error", err.Error()))
		w.WriteHeader(asProblem(err).kind.Status)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Upload-Offset", strconv.FormatInt(info.Size, 10))
	h.Set("Upload-Length", strconv.FormatInt(info.Size, 10))
	for name, value := range capture.headers() {
		h.Set(name, value)
	}
	w.WriteHeader(http.StatusOK)
}

// created refuses what has no room, before any of it is sent.
func (u *uploads) created(hook handler.HookEvent) (handler.HTTPResponse, handler.FileInfoChanges, error) {
	if err := u.s.opt.checkRoom(hook.Upload.Size); err != nil {
		return handler.HTTPResponse{}, handler.FileInfoChanges{}, tusError(err)
	}
	id := uuid.New()
	return handler.HTTPResponse{}, handler.FileInfoChanges{
		ID:       strings.ReplaceAll(id.String(), "-", ""),
		MetaData: handler.MetaData{"filename": cleanName(hook.Upload.MetaData["filename"])},
	}, nil
}

// finished makes a capture of a whole upload, and tells its id in the answer to the last bytes.
func (u *uploads) finished(hook handler.HookEvent) (handler.HTTPResponse, error) {
	c, err := u.finish(hook.Context, hook.Upload)
	if err != nil {
		u.s.log.LogAttrs(hook.Context, slog.LevelError, "upload not taken in", slog.String("upload", hook.Upload.ID), slog.String("error", err.Error()))
		return handler.HTTPResponse{}, tusError(err)
	}
	return handler.HTTPResponse{Header: c.headers()}, nil
}

// outcome is what an upload became.
type outcome struct {
	Capture uuid.UUID `json:"capture"`
	Known   bool      `json:"known"` // by an earlier upload of the same file
}

func (o outcome) headers() handler.HTTPHeader {
	h := handler.HTTPHeader{headerCaptureID: o.Capture.String()}
	if o.Known {
		h[headerCaptureKnown] = "true"
	}
	return h
}

// finish turns an upload into a capture. It may be called again, and then returns the same.
func (u *uploads) finish(ctx context.Context, info handler.FileInfo) (out outcome, err error) {
	u.finishing.Lock()
	defer u.finishing.Unlock()
	done := u.store.path(info.ID, suffixDone)
	if data, err := os.ReadFile(done); err == nil {
		return out, json.Unmarshal(data, &out)
	}
	sum, err := u.store.sum(ctx, info.ID)
	if err != nil {
		return out, err
	}
	c, created, err := u.s.library.take(ctx, received{name: info.MetaData["filename"], path: u.store.path(info.ID, ""), size: info.Size, sum: sum})
	if err != nil {
		return out, err
	}
	out = outcome{Capture: c.Id, Known: !created}
	data, err := json.Marshal(out)
	if err == nil {
		err = os.WriteFile(done, data, 0o600)
	}
	if err != nil {
		return outcome{}, fmt.Errorf("note the capture of an upload: %w", err)
	}
	return out, nil
}

// recover takes in uploads that were whole when an earlier run ended, and removes direct ones, which nobody continues.
func (u *uploads) recover(ctx context.Context) {
	for _, path := range u.store.direct() {
		if err := os.Remove(path); err != nil {
			u.s.log.LogAttrs(ctx, slog.LevelWarn, "broken upload not removed", slog.String("path", path), slog.String("error", err.Error()))
		}
	}
	for _, id := range u.store.list() {
		info, err := u.store.info(id)
		if err != nil || info.Offset != info.Size {
			continue
		}
		if _, err := os.Stat(u.store.path(id, suffixDone)); err == nil {
			continue
		}
		if _, err := u.finish(ctx, info); err != nil {
			u.s.log.LogAttrs(ctx, slog.LevelError, "upload not taken in", slog.String("upload", id), slog.String("error", err.Error()))
		}
	}
}

// expire removes uploads that nobody continues, now and then until ctx is done.
func (u *uploads) expire(ctx context.Context) {
	ticker := time.NewTicker(expiryInterval)
	defer ticker.Stop()
	for {
		u.expireOnce(ctx, time.Now().Add(-u.s.opt.UploadExpiry))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// expireOnce removes the uploads that were last written before a moment.
func (u *uploads) expireOnce(ctx context.Context, before time.Time) {
	for _, id := range u.store.list() {
		last := time.Time{}
		for _, suffix := range uploadSuffixes {
			if stat, err := os.Stat(u.store.path(id, suffix)); err == nil && stat.ModTime().After(last) {
				last = stat.ModTime()
			}
		}
		if last.After(before) {
			continue
		}
		if err := u.store.remove(id); err != nil {
			u.s.log.LogAttrs(ctx, slog.LevelWarn, "expired upload not removed", slog.String("upload", id), slog.String("error", err.Error()))
			continue
		}
		u.s.log.LogAttrs(ctx, slog.LevelInfo, "upload expired", slog.String("upload", id))
	}
}

// direct receives a file in one request. A negative length is unknown.
func (u *uploads) direct(ctx context.Context, name string, body io.Reader, length int64) (c api.Capture, created bool, err error) {
	opt := &u.s.opt
	if err := errors.Join(opt.checkSize(length), opt.checkRoom(length)); err != nil {
		return c, false, err
	}
	file, err := os.CreateTemp(opt.uploadDir(), directPattern)
	if err != nil {
		return c, false, fmt.Errorf("store upload: %w", uploadError(err))
	}
	defer func() {
		// After an intake the file has another name.
		if removed := os.Remove(file.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	sum := newSum()
	n, err := io.Copy(io.MultiWriter(file, sum), opt.watched(body, 0))
	u.s.metrics.uploadBytes.Add(float64(n))
	if err = errors.Join(err, file.Close()); err != nil {
		return c, false, uploadError(err)
	}
	return u.s.library.take(ctx, received{name: name, path: file.Name(), size: n, sum: hexSum(sum)})
}
