// Package excerpt writes the packets that prove a divergence as a capture of their own, which other programs open: pcapng
// with the times, the resolution, the link types and the interfaces of the capture that they were taken from, and a comment
// on each packet that proves something.
package excerpt
