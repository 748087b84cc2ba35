package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// makeReader settles as whom users' SQL runs, or why it does not.
func (s *Store) makeReader(ctx context.Context) {
	switch {
	case s.config.QueryDisabled != "":
		s.disabled = &DisabledError{Reason: s.config.QueryDisabled}
	case s.config.Reader.User != "":
		s.reader = s.config.Reader
	default:
		reader := Account{User: s.config.Database + "_reader", Password: rand.Text() + rand.Text()}
		if err := s.createReader(ctx, reader); err != nil {
			s.disabled = &DisabledError{Reason: fmt.Sprintf(
				"SQL is switched off, since ClickHouse does not let the user %s create the read-only user that it would run as: %v",
				s.config.Account.User, reason(err))}
			s.config.Logger.Warn("users cannot run SQL", slog.String("reason", s.disabled.Reason))
			return
		}
		s.reader = reader
	}
}

// reason is ClickHouse's text without the client's additions.
func reason(err error) string {
	if exception, ok := errors.AsType[*clickhouse.Exception](err); ok {
		return exception.Message
	}
	return err.Error()
}

// createReader makes a user that may read this database and nothing else. Every start has its own password.
// A setting with bounds may be lowered by a query, one that is CONST may not be touched.
func (s *Store) createReader(ctx context.Context, reader Account) error {
	limits := s.config.Limits
	seconds := int64(max(limits.ExecutionTime, time.Second) / time.Second)
	user := identifier(reader.User)
	create := fmt.Sprintf(`CREATE USER OR REPLACE %s IDENTIFIED WITH sha256_password BY '%s' SETTINGS
		readonly = 2,
		final = 1,
		max_execution_time = %[3]d MIN 1 MAX %[3]d,
		max_memory_usage = %[4]d MIN 1 MAX %[4]d,
		max_result_rows = %[5]d MIN 1 MAX %[5]d,
		max_result_bytes = %[6]d MIN 1 MAX %[6]d,
		max_memory_usage_for_user = %[4]d CONST,
		max_concurrent_queries_for_user = %[7]d CONST,
		timeout_before_checking_execution_speed = 0 CONST,
		result_overflow_mode = 'throw' CONST,
		timeout_overflow_mode = 'throw' CONST`,
		user, reader.Password, seconds, limits.Memory, limits.ResultRows, limits.ResultBytes, limits.Concurrent)
	if err := s.conn.Exec(ctx, create); err != nil {
		return err
	}
	return s.conn.Exec(ctx, "GRANT SELECT ON "+identifier(s.config.Database)+".* TO "+user)
}

// QueryDisabled is why users' SQL is not run: a *DisabledError, or nil when it is.
func (s *Store) QueryDisabled() error {
	if s.disabled == nil {
		return nil
	}
	return s.disabled
}
