// Package shipping makes rows of what an agent saw, and takes them out of its spool and into ClickHouse, or to a service that does,
// each exactly once. It knows no table that agents do not write and asks for nothing that was stored, so an agent carries
// neither the queries nor the migrations of the store.
package shipping
