// Package blocks holds rows of the tables column by column, as ClickHouse takes them in one insert: packets, flows, paths, streams
// and what replay says. The service fills them from captures and the agent from what passes, so both write a flow alike.
package blocks
