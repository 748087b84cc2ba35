package crc

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestUpdateMaskedReadsNothingBeyond lays bytes of every length against a page that must not be touched.
func TestUpdateMaskedReadsNothingBeyond(t *testing.T) {
	page := unix.Getpagesize()
	b, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	for _, outer := range [][]byte{b[:page], b[2*page:]} {
		if err := unix.Mprotect(outer, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	var mask Mask
	inner := b[page : 2*page]
	for n := range 600 {
		UpdateMasked(1, inner[page-n:], &mask)
		UpdateMasked(1, inner[:n], &mask)
	}
}
