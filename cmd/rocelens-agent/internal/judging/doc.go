// Package judging holds the connections that a watch sees against the reference transports while they pass, and keeps what
// it finds for the end of the interval. Where the capture lost packets nothing is judged, and judging begins anew.
package judging
