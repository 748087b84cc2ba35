// Package embedded starts and watches a ClickHouse of the service's own, as a child process: the program
// rocelens-clickhouse, which loads the engine from a shared library. Nothing has to be installed as a
// service, and the database's life is that of its parent: it ends when the pipe to its standard input does.
//
// Three users exist. The service has a random password that is made anew at each start. The reader, with
// another, may only SELECT from the service's database, within limits that it cannot raise. The engine's
// command line itself runs as "default", which cannot have a password there; it may have one session only,
// and that is taken before the first port is listened on, so nobody else can be default.
//
// The engine ends when a client fails before it is logged in, be it by a port scan. So clients meet the program's own
// listeners, which let nobody through but those users with their passwords; the engine itself listens at an address of
// the loopback interface that is drawn at each start. A program of this machine that looks for that address finds it and
// can end the engine, which is then started again; it can read nothing.
package embedded
