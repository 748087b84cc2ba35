// Package budget keeps the agent within a share of the processor: it measures what the process takes, and decides which part
// of all connections is followed. Connections are followed whole or not at all.
package budget
