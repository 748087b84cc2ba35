package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/rocelens/rocelens/store/shipping"
)

// serverFlags say which service rows go to where the database must not be reached.
type serverFlags struct {
	Server      string `env:"ROCELENS_AGENT_SERVER" placeholder:"URL" help:"Ship to this rocelens service, which puts rows into its database, for instance https://rocelens.example.net."`
	ServerToken string `name:"server-token" env:"ROCELENS_AGENT_SERVER_TOKEN" placeholder:"TEXT" help:"Token that it was started with; better given by the environment or the next."`
	TokenFile   string `name:"server-token-file" env:"ROCELENS_AGENT_SERVER_TOKEN_FILE" type:"path" placeholder:"FILE" help:"File with that token."`
	ServerCA    string `name:"server-ca" env:"ROCELENS_AGENT_SERVER_CA" type:"path" placeholder:"FILE" help:"Certificates that its own must come from, PEM."`
}

// target is where the flags say that rows go.
func (c *runCommand) target(logger *slog.Logger) (shipping.ShipperConfig, error) {
	config, err := c.shipper(logger)
	if err != nil || c.Server == "" {
		return config, errors.Join(err, c.unused())
	}
	if c.ClickHouse != "" {
		return config, errors.New("--server and --clickhouse are both given: rows go to one of them")
	}
	config.Server, err = c.serverFlags.target(logger)
	return config, err
}

func (f *serverFlags) unused() error {
	if f.Server == "" && f.ServerToken+f.TokenFile+f.ServerCA != "" {
		return errors.New("--server-token, --server-token-file and --server-ca are of no use without --server")
	}
	return nil
}

func (f *serverFlags) target(logger *slog.Logger) (*shipping.ServerTarget, error) {
	u, err := url.Parse(f.Server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("--server %q is not a URL such as https://rocelens.example.net", f.Server)
	}
	t := &shipping.ServerTarget{URL: f.Server, Token: f.ServerToken}
	if f.TokenFile != "" {
		if f.ServerToken != "" {
			return nil, errors.New("--server-token and --server-token-file are both given: leave one out")
		}
		text, err := os.ReadFile(f.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--server-token-file: %w", err)
		}
		t.Token = strings.TrimSpace(string(text))
	}
	if t.Token == "" {
		return nil, errors.New("--server needs the token that the service was started with: --server-token-file FILE")
	}
	if u.Scheme == "http" {
		if f.ServerCA != "" {
			return nil, errors.New("--server-ca is of no use without https")
		}
		if host, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !host.IsLoopback()) {
			logger.Warn("rows and the token go over the network unencrypted", slog.String("server", f.Server))
		}
		return t, nil
	}
	t.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ServerCA == "" {
		return t, nil
	}
	pem, err := os.ReadFile(f.ServerCA)
	if err != nil {
		return nil, fmt.Errorf("--server-ca: %w", err)
	}
	t.TLS.RootCAs = x509.NewCertPool()
	if !t.TLS.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--server-ca %s: there is no PEM certificate in it", f.ServerCA)
	}
	return t, nil
}
