package pcapfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"
)

// unpack returns a reader of what the compressed stream holds, up to the limit of opts. Its errors are a *damageError or
// those of raw.
func unpack(raw *bufio.Reader, kind content, opts Options) (io.ReadCloser, error) {
	u := &unpacker{left: opts.maxDecompressed(), limit: opts.maxDecompressed(), name: kind.compression()}
	var err error
	source := &rawErrors{r: raw}
	u.raw = source
	switch kind {
	case contentGzip:
		u.r, err = newGzip(bufio.NewReaderSize(source, 64<<10))
	case contentZstd:
		var d *zstd.Decoder
		// One goroutine, the caller's: Close then has nothing to wait for, and cores are for the analysis.
		d, err = zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxDictionary*2))
		if err == nil {
			u.r, u.close = d, d.Close
		}
	case contentXZ:
		u.r, err = xz.NewReader(source, maxDictionary)
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		return nil, u.explain(err)
	}
	return u, nil
}

type unpacker struct {
	r     io.Reader
	raw   *rawErrors
	close func()
	name  string
	left  int64
	limit int64
}

// Read stops at the limit with an error that says so.
func (u *unpacker) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if u.left <= 0 {
		// Only more bytes are too many: a file that ends here is whole.
		var one [1]byte
		n, err := io.ReadFull(u.r, one[:])
		if n == 0 {
			return 0, u.explain(err)
		}
		return 0, &damageError{fmt.Sprintf("more than %d bytes come out of the %s data, and no more are taken", u.limit, u.name)}
	}
	n, err := u.r.Read(p[:min(int64(len(p)), u.left)])
	u.left -= int64(n)
	return n, u.explain(err)
}

// Close frees the decoder.
func (u *unpacker) Close() error {
	if u.close != nil {
		u.close()
	}
	return nil
}

func (u *unpacker) explain(err error) error {
	var known *damageError
	switch {
	case err == nil || err == io.EOF: //nolint:errorlint // the end is io.EOF itself; a wrapped one is an error.
		return err
	case errors.As(err, &known):
		return err
	case u.raw.err != nil:
		return u.raw.err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, xz.ErrBuf):
		return &damageError{fmt.Sprintf("the %s data ends before its end", u.name)}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		return &damageError{fmt.Sprintf("the checksum of the %s data is wrong", u.name)}
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return &damageError{fmt.Sprintf("the zstd data asks for a window of more than %d bytes", maxDictionary*2)}
	case errors.Is(err, xz.ErrMemlimit):
		return &damageError{fmt.Sprintf("the xz data asks for a dictionary of more than %d bytes", maxDictionary)}
	case errors.Is(err, xz.ErrOptions), errors.Is(err, xz.ErrUnsupportedCheck):
		return &damageError{fmt.Sprintf("the xz data is packed in a way that is not read here (%v)", err)}
	default:
		return &damageError{fmt.Sprintf("the %s data is damaged (%v)", u.name, err)}
	}
}

// rawErrors remembers the error of the file itself, which decoders hide among their own.
type rawErrors struct {
	r   io.Reader
	err error
}

func (r *rawErrors) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// gzipMembers reads members one after another. Zero bytes after a member are padding, as of tapes; other bytes that
// are no member are damage.
type gzipMembers struct {
	raw *bufio.Reader
	z   *gzip.Reader
}

func newGzip(raw *bufio.Reader) (*gzipMembers, error) {
	z, err := gzip.NewReader(raw)
	if err != nil {
		return nil, unexpected(err)
	}
	z.Multistream(false)
	return &gzipMembers{raw: raw, z: z}, nil
}

// unexpected turns an end within a header into one that cannot be taken for the proper end.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	for {
		n, err := g.z.Read(p)
		if err == nil && n == 0 {
			continue
		}
		if n > 0 || !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			if errors.Is(err, io.EOF) {
				err = nil // the next call comes back here
			}
			return n, err
		}
		if err := g.member(); err != nil {
			return 0, err
		}
	}
}

func (g *gzipMembers) member() error {
	for padding := false; ; padding = true {
		b, err := g.raw.ReadByte()
		if err != nil {
			return err
		}
		if b == 0 {
			continue
		}
		if err := g.raw.UnreadByte(); err != nil {
			return err
		}
		if head, err := g.raw.Peek(len(magicGzip)); err != nil || string(head) != string(magicGzip) {
			if padding {
				return &damageError{"bytes that are no gzip data follow the padding"}
			}
			return &damageError{"bytes that are no gzip data follow its end"}
		}
		if err := g.z.Reset(g.raw); err != nil {
			return unexpected(err)
		}
		g.z.Multistream(false)
		return nil
	}
}
