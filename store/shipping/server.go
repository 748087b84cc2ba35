package shipping

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/spool"
	"github.com/rocelens/rocelens/store/wire"
)

// ServerTarget is a rocelens service that stores rows for agents which do not reach the database.
type ServerTarget struct {
	URL   string // http or https, and a host; a path is put before those of the API
	Token string
	TLS   *tls.Config // of https; nil: as Go does it
}

func (t *ServerTarget) address() (string, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("%q is no address of a service, such as https://rocelens.example.net", t.URL)
	}
	return u.JoinPath("api/v1/ingest/batches").String(), nil
}

// RefusedByServer is the reason for which rows are given up that a service takes for no batch.
const RefusedByServer = "not taken by the service"

// What goes into one request: no more than the service takes, and not so much that a slow line needs minutes.
const (
	carriedBatches = 64
	carriedBytes   = 8 << 20
	carryTimeout   = 2 * time.Minute
	// carryTrouble stands in the place of a table in what is told of troubles.
	carryTrouble = ""
)

// carrier takes batches to a service.
type carrier struct {
	shipper *Shipper
	client  *http.Client
	address string
}

// parcel is a batch on its way to a service.
type parcel struct {
	shipment
	uncertain bool
}

// carry ships by way of a service until ctx ends, which is no error, or the spool fails. Several batches go in one request,
// which the service answers when all are stored.
func (s *Shipper) carry(ctx context.Context) error {
	address, err := s.config.Server.address()
	if err != nil {
		return err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.config.Server.TLS, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	defer transport.CloseIdleConnections()
	c := &carrier{shipper: s, client: &http.Client{Transport: transport}, address: address}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.spool.Rewind()
	records := make(chan spool.Record, carriedBatches)
	go func() {
		defer close(records)
		for {
			record, err := s.spool.Next(ctx)
			if err != nil {
				cancel(err)
				return
			}
			select {
			case records <- record:
			case <-ctx.Done():
				return
			}
		}
	}()
	for record := range records {
		group, size := c.add(nil, record), len(record.Data)
		for len(records) > 0 && len(group) < carriedBatches && size < carriedBytes {
			record := <-records
			group, size = c.add(group, record), size+len(record.Data)
		}
		if err := c.deliver(ctx, group); err != nil {
			cancel(err)
		}
	}
	return ended(ctx, ctx.Err())
}

// add puts a record to a group. What is no batch is given up.
func (c *carrier) add(group []parcel, record spool.Record) []parcel {
	s := c.shipper
	b, err := wire.Decode(record.Data)
	if err != nil {
		s.config.Logger.Error("a batch in the spool cannot be read and is given up", slog.Uint64("batch", record.Sequence), slog.Any("cause", err))
		s.refuse(RefusedUnreadable, max(1, uint64(record.Units)))
		return append(group, parcel{shipment: shipment{record: record}})
	}
	b.Columns = nil // the record has them
	again := record.Replayed || record.Sequence <= s.carried
	s.carried = max(s.carried, record.Sequence)
	return append(group, parcel{shipment{b, record}, again})
}

// deliver returns nil when each batch is stored or given up. It tries for as long as ctx lasts.
func (c *carrier) deliver(ctx context.Context, group []parcel) error {
	s := c.shipper
	delay := s.config.FirstDelay
	for {
		err := c.send(ctx, group)
		if err == nil {
			return c.confirm(group)
		}
		refused, ok := errors.AsType[*refusedError](err)
		if ok && refused.batch {
			if len(group) == 1 {
				s.config.Logger.Error("the service does not take a batch, which is given up", slog.String("table", group[0].Table), slog.Any("cause", err))
				s.refuse(RefusedByServer, uint64(group[0].Rows))
				return s.end(group[0].shipment)
			}
			for i := range group { // nothing was stored; one of them is at fault
				if err := c.deliver(ctx, group[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.failed(carryTrouble, err)
		wait := delay
		if ok {
			wait = max(wait, min(refused.after, s.config.LastDelay))
		}
		if err := s.pause(ctx, wait); err != nil {
			return err
		}
		for i := range group {
			group[i].uncertain = true
		}
		delay = min(2*delay, s.config.LastDelay)
	}
}

// confirm notes that batches have arrived.
func (c *carrier) confirm(group []parcel) error {
	s := c.shipper
	s.mu.Lock()
	was, troubled := s.troubles[carryTrouble]
	delete(s.troubles, carryTrouble)
	s.mu.Unlock()
	if troubled {
		s.config.Logger.Info("rows arrive again", slog.Duration("after", time.Since(was.since)))
	}
	for i := range group {
		next := group[i].shipment
		var err error
		if next.Batch == nil {
			err = s.end(next)
		} else {
			err = s.confirm(next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refusedError is an answer of a service that is not what was hoped for.
type refusedError struct {
	words string
	batch bool          // it is the batch that it does not take
	after time.Duration // that it asks for before the next try
}

func (e *refusedError) Error() string { return e.words }

// send returns nil when the service has stored the group.
func (c *carrier) send(ctx context.Context, group []parcel) error {
	var body []byte
	for i := range group {
		if p := &group[i]; p.Batch != nil {
			body = wire.AppendFrame(body, wire.Frame{ID: uuid.UUID(p.record.ID()), Uncertain: p.uncertain, Data: p.record.Data})
		}
	}
	if len(body) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, carryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Authorization", "Bearer "+c.shipper.config.Server.Token)
	request.Header.Set("User-Agent", "rocelens-agent")
	where := c.shipper.config.Server.URL
	response, err := c.client.Do(request)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		if words := tlsTrouble(err, "the service at "+where, "server"); words != "" {
			return errors.New(words)
		}
		return fmt.Errorf("the service at %s does not answer: %w", where, err)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("the service at %s does not answer to the end: %w", where, err)
	}
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	out := &refusedError{words: fmt.Sprintf("the service at %s answers %s", where, response.Status)}
	ours := strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json")
	var problem struct{ Detail string }
	if ours && json.Unmarshal(answer, &problem) == nil && problem.Detail != "" {
		out.words += ": " + strings.TrimSuffix(problem.Detail, ".")
	}
	// What stands in between may answer as well, and knows nothing of batches.
	out.batch = ours && (response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusRequestEntityTooLarge)
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		out.after = time.Duration(seconds) * time.Second
	}
	return out
}
