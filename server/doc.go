// Package server is the HTTP service: the API of [api], resumable uploads, the queue of analyses, and the web console.
//
// It knows neither the database nor the analysis: what it needs of them it declares in ports.go, and cmd wires the
// two together.
package server
