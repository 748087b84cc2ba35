package server

import "github.com/rocelens/rocelens/server/api"

// QueryExamples are queries that work and are worth reading.
func QueryExamples() []api.QueryExample {
	return nil
}
