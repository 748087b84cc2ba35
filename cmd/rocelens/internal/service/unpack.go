package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
)

// unpacker implements server.Unpacker.
type unpacker struct{}

// Unpack decompresses a file, so that single packets can be read out of its middle later.
func (unpacker) Unpack(ctx context.Context, src, dst string, limit int64, progress func(server.Step)) (out server.Unpacked, err error) {
	in, err := os.Open(src)
	if err != nil {
		return out, fmt.Errorf("decompress: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	head := make([]byte, 16)
	n, err := in.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return out, fmt.Errorf("decompress: %w", err)
	}
	if pcapfile.Compression(head[:n]) == "" {
		return out, nil
	}
	info, err := in.Stat()
	if err != nil {
		return out, fmt.Errorf("decompress: %w", err)
	}
	file, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return out, fmt.Errorf("decompress: %w", err)
	}
	written := &countingWriter{w: file}
	out.Compression, err = pcapfile.Decompress(ctx, in, written, pcapfile.Options{MaxDecompressed: limit}, func(done int64) {
		progress(server.Step{Phase: api.ProgressPhaseDecompressing, Bytes: done, BytesTotal: info.Size(), Unpacked: written.n})
	})
	if errors.Is(err, pcapfile.ErrDamaged) {
		out.Fault, err = faultSentence(err), nil
	}
	if err = errors.Join(err, file.Close()); errors.Is(err, syscall.ENOSPC) {
		err = &server.UnreadableError{Reason: "There is no room on the disk to decompress the file: delete captures, then analyse it again."}
	}
	return out, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// faultSentence leaves out the wrapping that is for logs.
func faultSentence(err error) string {
	return strings.TrimPrefix(err.Error(), "decompress capture: ")
}

// readable turns pcapfile's refusals into the server's.
func readable(err error) error {
	var no *pcapfile.NotCaptureError
	for _, sentinel := range []error{pcapfile.ErrEmpty, pcapfile.ErrShortHeader} {
		if errors.Is(err, sentinel) {
			return &server.UnreadableError{Reason: sentinel.Error(), Cut: true}
		}
	}
	switch {
	case errors.As(err, &no):
		return &server.UnreadableError{Reason: no.Error()}
	case errors.Is(err, pcapfile.ErrDamaged):
		return &server.UnreadableError{Reason: faultSentence(err)}
	}
	return err
}
