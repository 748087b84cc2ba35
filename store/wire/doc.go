// Package wire is the form in which rows of agents lie in a spool and travel to a service: batches of one table, and the frames of
// a request. What comes from outside is looked at value by value ([Check]) before a database sees it.
package wire
