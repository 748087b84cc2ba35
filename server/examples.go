package server

import (
	"embed"
	"strings"
	"sync"

	"github.com/rocelens/rocelens/server/api"
)

// Each file begins with two lines of comment: a title, and why one asks.
//
//go:embed examples/*.sql
var exampleFiles embed.FS

// QueryExamples are queries that work and are worth reading.
var QueryExamples = sync.OnceValue(func() []api.QueryExample {
	entries, err := exampleFiles.ReadDir("examples")
	if err != nil {
		return []api.QueryExample{}
	}
	out := make([]api.QueryExample, 0, len(entries))
	for _, entry := range entries {
		data, err := exampleFiles.ReadFile("examples/" + entry.Name())
		if err != nil {
			continue
		}
		title, rest, _ := strings.Cut(string(data), "\n")
		description, sql, _ := strings.Cut(rest, "\n")
		description = strings.TrimPrefix(description, "-- ")
		out = append(out, api.QueryExample{
			Title: strings.TrimPrefix(title, "-- "), Description: &description, Sql: strings.TrimSpace(sql),
		})
	}
	return out
})
