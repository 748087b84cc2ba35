// Package pcapfile reads and writes packet capture files: pcap in all its byte orders and resolutions, and pcapng,
// plain or compressed with gzip, zstd or xz.
//
// The content decides what a file is, never its name. A damaged file yields every packet before the damage, and a
// report that says what is wrong and where; see [capture.Report]. Formats follow draft-ietf-opsawg-pcap and
// draft-ietf-opsawg-pcapng.
package pcapfile
