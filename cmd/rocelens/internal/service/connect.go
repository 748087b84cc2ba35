package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rocelens/rocelens/store"
)

// Codes of ClickHouse's errors that are the user's to mend.
const (
	codeReadonly         = 164
	codeUnknownUser      = 192
	codeWrongPassword    = 193
	codeRequiredPassword = 194
	codeAccessDenied     = 497
	codeAuthentication   = 516
)

// connectError says in one sentence why the user's own ClickHouse cannot be used, and which setting to change.
func (d *Database) connectError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	code, words, answered := store.Refusal(err)
	switch {
	case errors.Is(err, store.ErrReader):
		return d.readerError(err)
	case errors.Is(err, store.ErrOldServer):
		return fmt.Errorf("%w: update it, or name another with %s", err, settings("clickhouse"))
	case !answered:
		return d.networkError(ctx, err)
	}
	switch code {
	case codeUnknownUser, codeWrongPassword, codeRequiredPassword, codeAuthentication:
		with := "with the password that is given"
		if d.Password == "" {
			with = "without a password"
		}
		return fmt.Errorf("ClickHouse at %s does not let the user %s in %s: set %s (ClickHouse says: %s)",
			d.Address, d.User, with, settings("clickhouse-user", "clickhouse-password"), words)
	case codeAccessDenied, codeReadonly:
		return fmt.Errorf("the user %[1]s lacks rights on ClickHouse at %[2]s: let an administrator run GRANT ALL ON %[3]s.* TO %[1]s; GRANT ALL ON %[3]s_staging.* TO %[1]s;"+
			" GRANT TABLE ENGINE ON * TO %[1]s; or name another user with %[4]s (ClickHouse says: %[5]s)",
			d.User, d.Address, d.Name, settings("clickhouse-user", "clickhouse-password"), words)
	}
	return fmt.Errorf("ClickHouse at %s cannot be used as %s tells: %w", d.Address, settings("clickhouse"), err)
}

func (d *Database) readerError(err error) error {
	if _, words, answered := store.Refusal(err); answered {
		return fmt.Errorf("ClickHouse at %s does not let the user %s run statements: set %s (ClickHouse says: %s)",
			d.Address, d.Reader, settings("clickhouse-reader", "clickhouse-reader-password"), words)
	}
	return fmt.Errorf("%w; or name another user with %s", err, settings("clickhouse-reader", "clickhouse-reader-password"))
}

// networkError is for those failures in which no ClickHouse has answered.
func (d *Database) networkError(ctx context.Context, err error) error {
	var dns *net.DNSError
	var network net.Error
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var noTLS tls.RecordHeaderError
	correct := "correct " + settings("clickhouse")
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("there is no host %s for ClickHouse to be at: %s", dns.Name, correct)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: start ClickHouse there, or %s; its native protocol is usually on port 9000, with TLS on 9440", d.Address, correct)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Errorf("no way leads to %s: look to the network, or %s", d.Address, correct)
	case errors.As(err, &authority):
		return fmt.Errorf("the certificate of %s comes from nobody that this machine trusts: name the file of its authority with %s", d.Address, settings("clickhouse-ca"))
	case errors.As(err, &hostname):
		return fmt.Errorf("the certificate of %s is for another name (%w): name the server in %s as its certificate does", d.Address, hostname, settings("clickhouse"))
	case errors.As(err, &invalid):
		return fmt.Errorf("the certificate of %s is not valid (%w): renew it, or %s", d.Address, invalid, correct)
	case errors.As(err, &noTLS):
		return fmt.Errorf("%s does not speak TLS: name the port that does, usually 9440, or leave out %s", d.Address, settings("clickhouse-tls"))
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s does not answer in time: check that a ClickHouse server runs there and that no firewall is between, or %s; its native protocol is usually on port 9000", d.Address, correct)
	case d.TLS && d.endsEarly(err):
		return fmt.Errorf("%s ends the connection instead of speaking TLS: name the port that does, usually 9440, or leave out %s", d.Address, settings("clickhouse-tls"))
	case d.speaksTLS(ctx):
		return fmt.Errorf("%s speaks TLS: set %s", d.Address, settings("clickhouse-tls"))
	case strings.Contains(err.Error(), unexpectedPacket+"[72]"): // the H of HTTP
		return fmt.Errorf("%s speaks HTTP: name the port of the native protocol, usually 9000, with %s", d.Address, settings("clickhouse"))
	case d.endsEarly(err):
		return fmt.Errorf("%s ends the connection: check that it is the port of ClickHouse's native protocol, usually 9000, or %s", d.Address, correct)
	}
	return fmt.Errorf("ClickHouse at %s cannot be used (%w): check %s", d.Address, err, settings("clickhouse"))
}

// tlsPatience is how long a server is waited for that may speak TLS.
const tlsPatience = 3 * time.Second

// unexpectedPacket is how clickhouse-go speaks of a first byte that is not ClickHouse's; the byte follows.
const unexpectedPacket = "unexpected packet "

func (d *Database) endsEarly(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// speaksTLS asks the server, which answers who does not speak it in many ways.
func (d *Database) speaksTLS(ctx context.Context) bool {
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: tlsPatience},
		Config:    &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // nothing is sent
	}
	ctx, cancel := context.WithTimeout(ctx, tlsPatience)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", d.Address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// settings names settings by the three ways to give each: on the command line, by environment, in the configuration file.
func settings(names ...string) string {
	flags, variables := make([]string, len(names)), make([]string, len(names))
	for i, name := range names {
		flags[i] = "--" + name
		variables[i] = "ROCELENS_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	}
	const and = " and "
	return fmt.Sprintf("%s (environment %s; configuration file %s)", strings.Join(flags, and), strings.Join(variables, and), strings.Join(names, and))
}
