// Package ship takes what the agent's watches find to ClickHouse: it puts rows on disk first, keeps account of those that do
// not get there, and says of the agent how it is.
package ship
