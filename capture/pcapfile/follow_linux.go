package pcapfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Follow reads a capture that is still being written: Next waits for more frames until the writer closes the file,
// as it does when it goes on to the next file of a rotation, the file is deleted, or ctx is done; then comes io.EOF. A
// file that is renamed is followed on. One that is cut short, as by another writer that begins it anew, ends there and is
// reported as partial. Only Linux tells of such events; elsewhere it is errors.ErrUnsupported.
func Follow(ctx context.Context, path string, opts Options) (*Source, error) {
	s, err := follow(ctx, path, opts)
	if err != nil {
		return nil, fmt.Errorf("follow capture %q: %w", path, err)
	}
	return s, nil
}

func follow(ctx context.Context, path string, opts Options) (*Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := newFollower(ctx, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s, err := newStream(r, path, opts)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	s.closers = append([]io.Closer{r}, s.closers...)
	return s, nil
}

// follower is a file whose end is not the end: at it, Read waits for the kernel's word of a change.
type follower struct {
	f      *os.File
	at     int64    // bytes read
	events *os.File // inotify
	stop   func() bool
	last   bool // nobody writes any more: the next end is the end
}

func newFollower(ctx context.Context, f *os.File) (*follower, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, f.Name(), unix.IN_MODIFY|unix.IN_CLOSE_WRITE|unix.IN_ATTRIB); err != nil {
		return nil, errors.Join(os.NewSyscallError("inotify_add_watch", err), events.Close())
	}
	r := &follower{f: f, events: events}
	if err := events.SetReadDeadline(time.Time{}); err != nil {
		return nil, errors.Join(fmt.Errorf("watch: %w", err), events.Close())
	}
	// A deadline in the past wakes a Read that waits, and keeps later ones from waiting. That deadlines work was tried
	// above: here it fails only if the file is closed, and then nothing waits.
	r.stop = context.AfterFunc(ctx, func() {
		if events.SetReadDeadline(time.Unix(1, 0)) != nil {
			return
		}
	})
	return r, nil
}

// Read waits for at least one byte.
func (r *follower) Read(p []byte) (int, error) {
	for {
		n, err := r.f.Read(p)
		r.at += int64(n)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := r.shortened(); err != nil {
			return 0, err
		}
		if r.last {
			return 0, io.EOF
		}
		if err := r.wait(); err != nil {
			return 0, err
		}
	}
}

// wait returns when the file may have changed. Once it sets last, one more read drains what was written before.
func (r *follower) wait() error {
	var buf [16 * unix.SizeofInotifyEvent]byte
	n, err := r.events.Read(buf[:])
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		r.last = true
		return nil
	case err != nil:
		return fmt.Errorf("wait for the capture to grow: %w", err)
	}
	for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
		mask, name := binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:]) // struct inotify_event
		b = b[min(len(b), unix.SizeofInotifyEvent+int(name)):]
		if mask&unix.IN_CLOSE_WRITE != 0 || mask&unix.IN_ATTRIB != 0 && r.deleted() {
			r.last = true
		}
	}
	return nil
}

// shortened tells of a file that ends before what was read of it: what it gets from now on would be read from the
// middle of a record.
func (r *follower) shortened() error {
	info, err := r.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < r.at {
		return fmt.Errorf("the file was cut short to %d bytes while it was followed, after %d had been read", info.Size(), r.at)
	}
	return nil
}

func (r *follower) deleted() bool {
	var st unix.Stat_t
	return unix.Fstat(int(r.f.Fd()), &st) == nil && st.Nlink == 0
}

// Close ends the watch.
func (r *follower) Close() error {
	r.stop()
	return errors.Join(r.events.Close(), r.f.Close())
}
