package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/rocelens/rocelens/store/access"
)

// Codes of ClickHouse's errors about users.
const (
	codeReadonly      = 164
	codeAccessDenied  = 497
	codeNoUserStorage = 514
)

// ErrReader says that the user who was named for users' SQL is not fit for it.
var ErrReader = errors.New("the reader cannot be used")

// makeReader settles as whom users' SQL runs, or why it does not. A reader that was named has to work; that none can be
// made only switches SQL off.
func (s *Store) makeReader(ctx context.Context) error {
	switch {
	case s.config.QueryDisabled != "":
		s.disabled = &DisabledError{Reason: s.config.QueryDisabled}
		return nil
	case s.config.Reader.User != "":
		s.reader = s.config.Reader
		if err := s.checkReader(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrReader, err)
		}
		return nil
	}
	s.reader = access.Account{User: s.config.Database + "_reader", Password: rand.Text() + rand.Text()}
	err := s.createReader(ctx)
	if err == nil {
		err = s.checkReader(ctx)
	}
	if err != nil {
		s.disabled = &DisabledError{Reason: s.adviseOnReader(err)}
		s.config.Logger.Warn("users cannot run SQL", slog.String("reason", s.disabled.Reason))
	}
	return nil
}

// adviseOnReader says why there is no reader and what an administrator can do about it.
func (s *Store) adviseOnReader(err error) string {
	account, reader, database := access.Identifier(s.config.Account.User), access.Identifier(s.reader.User), access.Identifier(s.config.Database)
	byHand := fmt.Sprintf("CREATE USER %s IDENTIFIED BY '...' SETTINGS readonly = 2; GRANT SELECT ON %s.* TO %s;", reader, database, reader)
	named := "and name it with --clickhouse-reader and --clickhouse-reader-password"
	code, words, answered := Refusal(err)
	if !answered {
		words = err.Error()
	}
	switch code {
	case codeNoUserStorage:
		return fmt.Sprintf("SQL is switched off: this ClickHouse keeps no users but those of its configuration files, so the read-only user"+
			" that statements run as cannot be created. Add a user there with readonly = 2 and SELECT on %s.*, %s. ClickHouse says: %s.", database, named, words)
	case codeAccessDenied:
		return fmt.Sprintf("SQL is switched off: the user %s may not create the read-only user that statements run as."+
			" Let an administrator run: GRANT CREATE USER, DROP USER ON *.* TO %s; GRANT SELECT ON %s.* TO %s WITH GRANT OPTION;"+
			" or: %s %s. ClickHouse says: %s.", s.config.Account.User, account, database, account, byHand, named, words)
	}
	return fmt.Sprintf("SQL is switched off: the read-only user that statements run as cannot be created."+
		" Let an administrator run: %s %s. ClickHouse says: %s.", byHand, named, words)
}

// createReader makes a user that may read this database and nothing else. Every start has its own password.
// A setting with bounds may be lowered by a query, one that is CONST may not be touched.
func (s *Store) createReader(ctx context.Context) error {
	limits := s.config.Limits
	seconds := int64(max(limits.ExecutionTime, time.Second) / time.Second)
	user := access.Identifier(s.reader.User)
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
		user, s.reader.Password, seconds, limits.Memory, limits.ResultRows, limits.ResultBytes, limits.Concurrent)
	if err := s.conn.Exec(ctx, create); err != nil {
		return err
	}
	return s.conn.Exec(ctx, "GRANT SELECT ON "+access.Identifier(s.config.Database)+".* TO "+user)
}

// connectReader opens a connection of its own as the reader. Captures are replaced by newer rows, so statements see them
// as FINAL does, whoever the reader is.
func (s *Store) connectReader() (driver.Conn, error) {
	options := s.options(s.config.Database)
	options.Auth.Username, options.Auth.Password = s.reader.User, s.reader.Password
	options.Settings = clickhouse.Settings{"final": 1}
	options.MaxOpenConns, options.MaxIdleConns = 1, 1
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("connect to ClickHouse: %w", err)
	}
	return conn, nil
}

// checkReader connects as the reader and makes sure that the database itself refuses it to write.
func (s *Store) checkReader(ctx context.Context) (err error) {
	conn, err := s.connectReader()
	if err != nil {
		return err
	}
	defer closing(&err, conn)
	var readonly uint64
	err = conn.QueryRow(ctx, "SELECT toUInt64(getSetting('readonly'))").Scan(&readonly)
	if code, _, _ := Refusal(err); code == codeReadonly {
		return fmt.Errorf("the user %s has the setting readonly = 1, with which the service cannot ask for anything: set it to 2", s.reader.User)
	}
	if err != nil {
		return err
	}
	if readonly == 0 {
		return fmt.Errorf("the user %s may write, and users' SQL must not: ALTER USER %s SETTINGS readonly = 2", s.reader.User, access.Identifier(s.reader.User))
	}
	return s.warnOfGrants(ctx, conn)
}

// warnOfGrants tells of what the reader may do beside reading tables: reading files and other servers, for instance.
func (s *Store) warnOfGrants(ctx context.Context, conn driver.Conn) (err error) {
	rows, err := conn.Query(ctx, "SHOW GRANTS")
	if err != nil {
		return err
	}
	defer closing(&err, rows)
	for rows.Next() {
		var grant string
		if err := rows.Scan(&grant); err != nil {
			return err
		}
		if !strings.HasPrefix(grant, "GRANT SELECT ON ") || strings.Contains(grant, " ON *.* ") {
			s.config.Logger.Warn("users' SQL may do more than read the database", slog.String("user", s.reader.User), slog.String("grant", grant))
		}
	}
	return rows.Err()
}

// QueryDisabled is why users' SQL is not run: a *DisabledError, or nil when it is.
func (s *Store) QueryDisabled() error {
	if s.disabled == nil {
		return nil
	}
	return s.disabled
}
