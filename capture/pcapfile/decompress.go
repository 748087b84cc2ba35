package pcapfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

const copyBuffer = 256 << 10

// Decompress copies a capture from src to dst without its compression, so that single frames can be read from dst
// later. It returns the compression found: "gzip", "zstd", "xz", or "" for a file that was copied as it is.
//
// progress, if not nil, is told now and then how many bytes of src are done. Errors: ErrEmpty; ErrDamaged when the
// compressed data ends early, is wrong, or holds more than opts allow, in which case dst has everything before that
// place and the error is a sentence for the report; the context's; and those of src and dst.
func Decompress(ctx context.Context, src io.Reader, dst io.Writer, opts Options, progress func(int64)) (string, error) {
	var done atomic.Int64
	raw := bufio.NewReaderSize(&countingReader{r: src, n: &done}, 64<<10)
	head, err := raw.Peek(len(magicXZ))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("decompress capture: %w", err)
	}
	if len(head) == 0 {
		return "", fmt.Errorf("decompress capture: %w", ErrEmpty)
	}
	compression := sniff(head).compression()
	if compression == "" {
		return "", copyAll(ctx, raw, dst, &done, progress)
	}
	unpacked, err := unpack(raw, sniff(head), opts)
	if err != nil {
		return compression, fmt.Errorf("decompress capture: %w", err)
	}
	return compression, errors.Join(copyAll(ctx, unpacked, dst, &done, progress), unpacked.Close())
}

func copyAll(ctx context.Context, src io.Reader, dst io.Writer, done *atomic.Int64, progress func(int64)) error {
	buf := make([]byte, copyBuffer)
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("decompress capture: %w", err)
		}
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return fmt.Errorf("decompress capture: %w", err)
			}
			if progress != nil {
				progress(done.Load())
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		default:
			return fmt.Errorf("decompress capture: %w", err)
		}
	}
}
