package service

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/wire"
)

// ingest implements server.Ingest.
type ingest struct{ store *store.Ingest }

// Take implements server.Ingest.
func (i ingest) Take(ctx context.Context, body []byte) error {
	err := i.store.Take(ctx, body)
	for _, kind := range []struct{ from, to error }{
		{wire.ErrBadFrames, server.ErrBadRequest}, {store.ErrIngestRefused, server.ErrIngestRefused}, {store.ErrIngestAway, server.ErrUnavailable},
	} {
		if errors.Is(err, kind.from) {
			return fmt.Errorf("%w: %s", kind.to, strings.TrimPrefix(err.Error(), kind.from.Error()+": "))
		}
	}
	return err
}

// State implements server.Ingest.
func (i ingest) State() server.IngestState { return server.IngestState(i.store.State()) }
