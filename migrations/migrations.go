// Package migrations holds the database's schema as numbered SQL files and applies those that a database
// has not seen. Each file is one statement that can be run again without harm, since ClickHouse has no
// transactions around such statements. There is no way back: a mistake is mended by a later file.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed *.sql
var files embed.FS

// VersionTable is where a database remembers which files it has seen.
const VersionTable = "goose_db_version"

// Up brings the database that db is connected to up to date and says how many files it applied.
func Up(ctx context.Context, db *sql.DB, logger *slog.Logger) (int, error) {
	provider, err := goose.NewProvider(goose.DialectClickHouse, db, files,
		goose.WithTableName(VersionTable), goose.WithDisableGlobalRegistry(true), goose.WithSlog(logger))
	if err != nil {
		return 0, fmt.Errorf("read the schema's files: %w", err)
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask for the schema's version: %w", err)
	}
	if current > target {
		return 0, fmt.Errorf("%w: it is at %d and this program knows %d", ErrNewer, current, target)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return len(results), fmt.Errorf("bring the schema up to date: %w", err)
	}
	return len(results), nil
}

// ErrNewer says that the database was used by a later release. Its schema is left alone.
var ErrNewer = errors.New("the database's schema is newer than this program")
