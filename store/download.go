package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Format is a form that a whole answer can be downloaded in, by ClickHouse's name for it.
type Format string

// Formats.
const (
	FormatCSV       Format = "CSVWithNames"
	FormatJSON      Format = "JSON"
	FormatJSONLines Format = "JSONEachRow"
)

// Download is an answer on its way. A read error means that it is incomplete.
type Download struct {
	ContentType string
	Body        io.ReadCloser // closing it early kills the query
}

// errNoHTTP: the store knows no HTTP address.
var errNoHTTP = &DisabledError{Reason: "downloads are switched off, since the HTTP address of ClickHouse is not configured"}

// Download runs one statement as the reader and returns the whole answer as ClickHouse writes it. It
// returns once the database has accepted the statement; its refusal is a *QueryError. The answer ends when
// ctx does.
func (s *Store) Download(ctx context.Context, statement string, format Format) (Download, error) {
	if err := s.QueryDisabled(); err != nil {
		return Download{}, err
	}
	if s.config.HTTPAddress == "" {
		return Download{}, errNoHTTP
	}
	scheme := "http"
	if s.config.TLS != nil {
		scheme = "https"
	}
	parameters := url.Values{
		"database":                {s.config.Database},
		"default_format":          {string(format)},
		"date_time_output_format": {"iso"},
		"final":                   {"1"},
		"cancel_http_readonly_queries_on_client_close": {"1"},
	}
	address := url.URL{Scheme: scheme, Host: s.config.HTTPAddress, Path: "/", RawQuery: parameters.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), strings.NewReader(statement))
	if err != nil {
		return Download{}, fmt.Errorf("ask ClickHouse: %w", err)
	}
	request.SetBasicAuth(s.reader.User, s.reader.Password)
	response, err := s.http.Do(request)
	if err != nil {
		return Download{}, fmt.Errorf("ask ClickHouse: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return Download{}, s.refusal(response)
	}
	return Download{ContentType: response.Header.Get("Content-Type"), Body: response.Body}, nil
}

// maxRefusal bounds how much of an error's text is kept.
const maxRefusal = 64 << 10

func (s *Store) refusal(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("ask ClickHouse: %w", err)
	}
	message := strings.TrimSpace(string(text))
	code, err := strconv.Atoi(response.Header.Get("X-ClickHouse-Exception-Code"))
	if err != nil {
		return fmt.Errorf("ask ClickHouse: %s: %s", response.Status, message)
	}
	// The native protocol's texts have neither the code before nor the version behind.
	if _, text, found := strings.Cut(message, "Exception: "); found {
		message = text
	}
	if version := strings.LastIndex(message, " (version "); version >= 0 {
		message = message[:version]
	}
	message, _, _ = strings.Cut(message, "\nCannot print extra info")
	return s.refused(code, strings.TrimSuffix(strings.TrimSuffix(message, "("+s.errorNames[code]+")"), ". "))
}
