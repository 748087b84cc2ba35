package main

import (
	"context"
	"fmt"

	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
)

// migrateCommand is for those who give the service a database user that may not change tables.
type migrateCommand struct {
	databaseFlags `embed:""`
}

// Run brings the database's tables up to date.
func (c *migrateCommand) Run(ctx context.Context, std *streams) error {
	logger, err := c.logger(std)
	if err != nil {
		return err
	}
	data, err := c.dataDir()
	if err != nil {
		return err
	}
	report, err := service.Migrate(ctx, service.Config{DataDir: data, Database: c.database(), Logger: logger})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.Out, report)
	return err
}
