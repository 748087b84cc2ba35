package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sent is what a flood was.
type sent struct {
	packets int
	took    time.Duration
	spent   time.Duration // processor time of the thread
}

// send sends at a rate, packets a second, 0 for as fast as it goes, by one thread in the namespace of the sending end.
func send(ctx context.Context, t *traffic, rate int, length time.Duration) (s sent, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for ever: the thread ends with the goroutine, and carries the namespace nowhere
		if err = enter(left); err == nil {
			s, err = sendHere(ctx, t, rate, length)
		}
	}()
	<-done
	return s, err
}

func enter(namespace string) error {
	f, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter namespace: %w", err)
	}
	return nil
}

// messageHeader is struct mmsghdr of sendmmsg(2).
type messageHeader struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

func sendHere(ctx context.Context, t *traffic, rate int, length time.Duration) (s sent, err error) {
	i, err := net.InterfaceByName(from)
	if err != nil {
		return s, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return s, fmt.Errorf("open packet socket: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is left to be lost
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: i.Index}); err != nil {
		return s, fmt.Errorf("bind to interface: %w", err)
	}
	vectors, headers := make([]unix.Iovec, len(t.frames)), make([]messageHeader, len(t.frames))
	for n, frame := range t.frames {
		vectors[n].Base = &frame[0]
		vectors[n].SetLen(len(frame))
		headers[n].header.Iov = &vectors[n]
		headers[n].header.SetIovlen(1)
	}
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &before); err != nil {
		return s, err
	}
	start := time.Now()
	for ctx.Err() == nil {
		s.took = time.Since(start)
		if s.took >= length {
			break
		}
		if rate > 0 {
			if ahead := time.Duration(float64(s.packets)/float64(rate)*float64(time.Second)) - s.took; ahead > 0 {
				nap := unix.NsecToTimespec(int64(ahead))
				_ = unix.Nanosleep(&nap, nil) // one that is interrupted goes on by the clock above
				continue
			}
		}
		t.next()
		for rest := headers; len(rest) > 0; {
			n, _, code := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&rest[0])), uintptr(len(rest)), 0, 0, 0) //nolint:gosec // as sendmmsg(2) has it
			switch code {
			case 0:
				s.packets += int(n)
				rest = rest[n:]
			case unix.ENOBUFS, unix.EINTR, unix.EAGAIN:
			default:
				return s, fmt.Errorf("send: %w", code)
			}
		}
	}
	err = unix.Getrusage(unix.RUSAGE_THREAD, &after)
	s.spent = time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	return s, err
}
