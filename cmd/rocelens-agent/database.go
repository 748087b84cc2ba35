package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/shipping"
)

// databaseFlags say which ClickHouse rows go to.
type databaseFlags struct {
	ClickHouse         string `name:"clickhouse" env:"ROCELENS_AGENT_CLICKHOUSE" placeholder:"ADDR" help:"Ship to this ClickHouse server (native protocol, HOST:PORT)."`
	ClickHouseDatabase string `name:"clickhouse-database" env:"ROCELENS_AGENT_CLICKHOUSE_DATABASE" default:"rocelens" help:"Its database (${default}), which rocelens serve or rocelens migrate has made."`
	ClickHouseUser     string `name:"clickhouse-user" env:"ROCELENS_AGENT_CLICKHOUSE_USER" default:"default" help:"User that may insert and select there (${default})."`
	ClickHousePassword string `name:"clickhouse-password" env:"ROCELENS_AGENT_CLICKHOUSE_PASSWORD" placeholder:"TEXT" help:"Its password; better given by the environment or the file."`
	ClickHouseTLS      bool   `name:"clickhouse-tls" env:"ROCELENS_AGENT_CLICKHOUSE_TLS" help:"Speak TLS to it."`
	ClickHouseCA       string `name:"clickhouse-ca" env:"ROCELENS_AGENT_CLICKHOUSE_CA" type:"path" placeholder:"FILE" help:"Certificates that its own must come from, PEM."`
}

// shipper is the configuration that the flags ask for; an address is not needed.
func (f *databaseFlags) shipper(logger *slog.Logger) (shipping.ShipperConfig, error) {
	c := shipping.ShipperConfig{
		Address: f.ClickHouse, Database: f.ClickHouseDatabase, Logger: logger,
		Account: access.Account{User: f.ClickHouseUser, Password: f.ClickHousePassword},
	}
	if !access.ValidDatabase(f.ClickHouseDatabase) {
		return c, fmt.Errorf("--clickhouse-database %q is no name for a database: letters, digits and underscores are", f.ClickHouseDatabase)
	}
	host, _, err := net.SplitHostPort(f.ClickHouse)
	if err != nil && f.ClickHouse != "" {
		return c, fmt.Errorf("--clickhouse %q is not HOST:PORT", f.ClickHouse)
	}
	if f.ClickHouseCA != "" && !f.ClickHouseTLS {
		return c, errors.New("--clickhouse-ca is of no use without --clickhouse-tls")
	}
	if !f.ClickHouseTLS {
		return c, nil
	}
	c.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if f.ClickHouseCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(f.ClickHouseCA)
	if err != nil {
		return c, fmt.Errorf("--clickhouse-ca: %w", err)
	}
	c.TLS.RootCAs = x509.NewCertPool()
	if !c.TLS.RootCAs.AppendCertsFromPEM(pem) {
		return c, fmt.Errorf("--clickhouse-ca %s: there is no PEM certificate in it", f.ClickHouseCA)
	}
	return c, nil
}
