package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/rocelens/rocelens/server/api"
)

// Ingest stores what agents send.
type Ingest interface {
	// Take stores the batches of a request, and returns when all of them are. What is no batch is ErrBadRequest, and nothing
	// of the request is stored then; ErrIngestRefused is what this release cannot store. ErrUnavailable leaves it uncertain what
	// is stored.
	Take(ctx context.Context, body []byte) error
	// State tells how much was stored.
	State() IngestState
}

// IngestState is what an Ingest has stored since the service began, and what waits.
type IngestState struct {
	Batches, Rows uint64 // stored, counted each time they were sent
	Inserts       uint64 // each takes batches of many agents
	Waiting       uint64 // batches
}

// ErrIngestRefused says that rows cannot be stored by this release. Its text is for the person who runs the agent.
var ErrIngestRefused = errors.New("rows refused")

// ingestDoor lets in agents that know the token, and no more of them at a time than memory allows.
type ingestDoor struct {
	token  [sha256.Size]byte // compared instead of the token, whose length nobody needs to learn
	memory *semaphore.Weighted
}

func newIngestDoor(token string) *ingestDoor {
	return &ingestDoor{token: sha256.Sum256([]byte(token)), memory: semaphore.NewWeighted(ingestMemory)}
}

// admit is nil for a request that carries the token.
func (d *ingestDoor) admit(r *http.Request) error {
	given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given))
	if !found || subtle.ConstantTimeCompare(sum[:], d.token[:]) != 1 {
		return problemf(kindUnauthorized, "Rows of agents are taken with the token of --ingest-token-file, as Authorization: Bearer TOKEN.")
	}
	return nil
}

// IngestBatches answers POST /ingest/batches.
func (e *endpoint) IngestBatches(ctx context.Context, r api.IngestBatchesRequestObject) (api.IngestBatchesResponseObject, error) {
	if e.s.ingest == nil {
		return nil, problemf(kindNotFound, "This service takes no rows of agents: start it with --ingest-token-file.")
	}
	q := request(ctx)
	if err := e.s.ingest.admit(q); err != nil {
		return nil, err
	}
	size := q.ContentLength
	switch {
	case size > maxIngestBody:
		return nil, problemf(kindTooLarge, "The body is larger than %s.", byteSize(maxIngestBody))
	case size < 0:
		size = maxIngestBody
	}
	if err := e.s.ingest.memory.Acquire(ctx, size); err != nil {
		return nil, &problem{kind: kindUnavailable, detail: "Too many agents are sending at once.", cause: err}
	}
	defer e.s.ingest.memory.Release(size)
	body, err := io.ReadAll(io.LimitReader(r.Body, maxIngestBody+1))
	if err != nil {
		return nil, &problem{kind: kindInvalid, detail: "The body broke off.", cause: err}
	}
	if len(body) > maxIngestBody {
		return nil, problemf(kindTooLarge, "The body is larger than %s.", byteSize(maxIngestBody))
	}
	e.s.metrics.ingestBytes.Add(float64(len(body)))
	err = e.s.opt.Ingest.Take(ctx, body)
	switch {
	case errors.Is(err, ErrIngestRefused):
		return nil, &problem{kind: kindConflict, detail: capitalized(strings.TrimPrefix(err.Error(), ErrIngestRefused.Error()+": ")) + ".", cause: err}
	case err != nil && !errors.Is(err, ErrBadRequest) && !errors.Is(err, ErrUnavailable):
		return nil, fmt.Errorf("store rows of agents: %w", err)
	}
	return api.IngestBatches204Response{}, err
}
