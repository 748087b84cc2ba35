package server

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"
)

// Files of an upload, after its id.
const (
	suffixInfo = ".info"   // written by the file store
	suffixSum  = ".sha256" // where the checksum has got to
	suffixDone = ".done"   // the outcome: which capture it became
)

var uploadSuffixes = []string{"", suffixInfo, suffixSum, suffixDone}

// hashingStore computes an upload's SHA-256 while it arrives, so that the end of a long upload is not the beginning of
// a long wait. It also watches the disk.
type hashingStore struct {
	filestore.FileStore
	opt      *Options
	received func(bytes float64)
}

func (s *hashingStore) path(id, suffix string) string {
	return filepath.Join(s.Path, id+suffix)
}

// list returns the ids of all uploads.
func (s *hashingStore) list() []string {
	files, err := filepath.Glob(filepath.Join(s.Path, "*"+suffixInfo))
	if err != nil {
		return nil
	}
	var ids []string
	for _, file := range files {
		if id := strings.TrimSuffix(filepath.Base(file), suffixInfo); uploadID.MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// directPattern names the files of uploads in one request while they arrive.
const directPattern = "direct-*"

func (s *hashingStore) direct() []string {
	files, err := filepath.Glob(filepath.Join(s.Path, directPattern))
	if err != nil {
		return nil
	}
	return files
}

// info reads what is known of an upload; its offset is its size when it has become a capture.
func (s *hashingStore) info(id string) (handler.FileInfo, error) {
	var info handler.FileInfo
	data, err := os.ReadFile(s.path(id, suffixInfo))
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("upload %s: %w", id, err)
	}
	if _, err := os.Stat(s.path(id, suffixDone)); err == nil {
		info.Offset = info.Size
		return info, nil
	}
	stat, err := os.Stat(s.path(id, ""))
	if err != nil {
		return info, err
	}
	info.Offset = stat.Size()
	return info, nil
}

func (s *hashingStore) remove(id string) error {
	var errs []error
	for _, suffix := range uploadSuffixes {
		if err := os.Remove(s.path(id, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// NewUpload implements handler.DataStore.
func (s *hashingStore) NewUpload(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	inner, err := s.FileStore.NewUpload(ctx, info)
	if err != nil {
		return nil, tusError(uploadError(err))
	}
	return &hashingUpload{Upload: inner, store: s, id: info.ID}, nil
}

// GetUpload implements handler.DataStore.
func (s *hashingStore) GetUpload(ctx context.Context, id string) (handler.Upload, error) {
	inner, err := s.FileStore.GetUpload(ctx, id)
	if err != nil {
		return nil, err
	}
	return &hashingUpload{Upload: inner, store: s, id: id}, nil
}

// AsTerminatableUpload implements handler.TerminaterDataStore.
func (s *hashingStore) AsTerminatableUpload(u handler.Upload) handler.TerminatableUpload {
	return u.(*hashingUpload) //nolint:forcetypeassert // the handler hands back what this store gave it
}

// sum is the checksum of a whole upload.
func (s *hashingStore) sum(ctx context.Context, id string) (string, error) {
	stat, err := os.Stat(s.path(id, ""))
	if err != nil {
		return "", fmt.Errorf("upload %s: %w", id, err)
	}
	h, err := s.resume(ctx, id, stat.Size())
	if err != nil {
		return "", err
	}
	return hexSum(h), nil
}

// resume returns the checksum of the first size bytes: kept from the last request, or computed again.
func (s *hashingStore) resume(ctx context.Context, id string, size int64) (hash.Hash, error) {
	if h, ok := s.kept(id, size); ok {
		return h, nil
	}
	file, err := os.Open(s.path(id, ""))
	if err != nil {
		return nil, fmt.Errorf("upload %s: %w", id, err)
	}
	h := newSum()
	_, err = io.Copy(h, &contextReader{ctx: ctx, r: io.LimitReader(file, size)})
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("checksum of upload %s: %w", id, err)
	}
	return h, nil
}

// keptSum is what the .sha256 file holds.
type keptSum struct {
	Offset int64  `json:"offset"`
	State  []byte `json:"state"`
}

func (s *hashingStore) kept(id string, size int64) (hash.Hash, bool) {
	data, err := os.ReadFile(s.path(id, suffixSum))
	if err != nil {
		return nil, false
	}
	var kept keptSum
	if err := json.Unmarshal(data, &kept); err != nil || kept.Offset != size {
		return nil, false
	}
	h := newSum()
	state, ok := h.(encoding.BinaryUnmarshaler)
	if !ok || state.UnmarshalBinary(kept.State) != nil {
		return nil, false
	}
	return h, true
}

func (s *hashingStore) keep(id string, h hash.Hash, size int64) error {
	state, ok := h.(encoding.BinaryMarshaler)
	if !ok {
		return nil
	}
	raw, err := state.MarshalBinary()
	if err != nil {
		return err
	}
	data, err := json.Marshal(keptSum{Offset: size, State: raw})
	if err != nil {
		return err
	}
	return os.WriteFile(s.path(id, suffixSum), data, 0o600)
}

type hashingUpload struct {
	handler.Upload
	store *hashingStore
	id    string
}

// Terminate implements handler.TerminatableUpload.
func (u *hashingUpload) Terminate(context.Context) error { return u.store.remove(u.id) }

// WriteChunk implements handler.Upload.
func (u *hashingUpload) WriteChunk(ctx context.Context, offset int64, src io.Reader) (int64, error) {
	h, err := u.store.resume(ctx, u.id, offset)
	if err != nil {
		return 0, err
	}
	hashed := &countingHash{Hash: h}
	n, err := u.Upload.WriteChunk(ctx, offset, io.TeeReader(u.store.opt.watched(src, offset), hashed))
	u.store.received(float64(n))
	if err != nil {
		err = tusError(uploadError(err))
	}
	if hashed.n != n {
		return n, err // the file has less than was hashed: the next request computes it again
	}
	if kept := u.store.keep(u.id, h, offset+n); kept != nil && err == nil {
		err = tusError(uploadError(kept))
	}
	return n, err
}

type countingHash struct {
	hash.Hash
	n int64
}

func (c *countingHash) Write(p []byte) (int, error) {
	n, err := c.Hash.Write(p)
	c.n += int64(n)
	return n, err
}

type contextReader struct {
	ctx context.Context //nolint:containedctx // lives as long as one copy
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func newSum() hash.Hash         { return sha256.New() }
func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// checkSize refuses what is above the limit on one upload. A negative size is unknown.
func (o *Options) checkSize(size int64) error {
	if o.MaxUpload > 0 && size > o.MaxUpload {
		return problemf(kindTooLarge, "The file has %s; this service takes at most %s.", byteSize(size), byteSize(o.MaxUpload))
	}
	return nil
}

// checkRoom refuses what the disk cannot hold besides its reserve.
func (o *Options) checkRoom(size int64) error {
	free, err := freeBytes(o.uploadDir())
	if err != nil {
		return err
	}
	if room := free - o.DiskReserve; room < max(size, 1) {
		return problemf(kindDiskFull, "The file has %s, and the disk of the data directory has room for %s: delete captures, or give it a larger disk.",
			byteSize(max(size, 1)), byteSize(max(room, 0)))
	}
	return nil
}

// watched is a body that ends with a problem when it grows above the limit or the disk fills up.
func (o *Options) watched(body io.Reader, already int64) io.Reader {
	return &watchedReader{r: body, opt: o, total: already, next: already + diskCheckEvery}
}

type watchedReader struct {
	r     io.Reader
	opt   *Options
	total int64
	next  int64 // total at which the disk is looked at
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.total += int64(n)
	if w.opt.MaxUpload > 0 && w.total > w.opt.MaxUpload {
		return 0, problemf(kindTooLarge, "The file has more than %s, which is all that this service takes.", byteSize(w.opt.MaxUpload))
	}
	if w.total >= w.next {
		w.next = w.total + diskCheckEvery
		if full := w.opt.checkRoom(0); full != nil {
			return 0, errDiskFull
		}
	}
	return n, err
}

var errDiskFull = problemf(kindDiskFull, "The disk of the data directory is full: delete captures, then go on with the upload.")

// uploadError finds the problem in an error of writing what arrives.
func uploadError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return errDiskFull
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &problem{kind: kindInvalid, detail: "The connection ended before the file did.", cause: err}
	}
	return err
}
