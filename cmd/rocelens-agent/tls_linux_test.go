package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/internal/vethtest"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{certificate, key}
}

// text is the certificate of the authority itself, PEM.
func (a *authority) text() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// issue makes a certificate for an address, valid until a time.
func (a *authority) issue(t *testing.T, address string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "a test"}, NotBefore: until.Add(-2 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.ParseIP(address)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// encrypted listens with TLS and passes on to a target what comes, as a proxy before it does.
func encrypted(t *testing.T, certificate tls.Certificate, target string) string {
	t.Helper()
	plain, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listener := tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := new(net.Dialer).DialContext(t.Context(), "tcp", target)
			if err != nil {
				_ = in.Close()
				continue
			}
			join := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				_ = to.Close()
			}
			go join(in, out)
			go join(out, in)
		}
	}()
	return listener.Addr().String()
}

// outcome ships one heartbeat: it is empty when that arrives, and otherwise why it does not.
func outcome(t *testing.T, config shipping.ShipperConfig) string {
	t.Helper()
	from, err := spool.Open(t.TempDir(), spool.Options{})
	require.NoError(t, err)
	defer from.Close()
	beat := shipping.AgentHeartbeat{Agent: uuid.New(), Time: time.Now(), Host: "node7"}
	require.NoError(t, from.Add(spool.Entry{Data: beat.Batch().Data, Units: 1}))
	require.NoError(t, from.Sync())
	shipper, err := shipping.NewShipper(config, from)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- shipper.Run(ctx) }()
	require.Eventually(t, func() bool { return from.State().Records == 0 || shipper.State().Problem != "" }, patience, glance)
	problem := shipper.State().Problem
	cancel()
	require.NoError(t, <-ended)
	return problem
}

// Rows reach service and database by TLS alone when the certificate is right, and otherwise the agent says what to do.
func TestCertificatesAreHeldAgainst(t *testing.T) {
	db := newDatabase(t)
	remote := newService(t, db)
	ours, others := newAuthority(t), newAuthority(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, ours.text(), 0o600))
	hour := time.Now().Add(time.Hour)
	user, password := db.Credentials()
	quiet := slog.New(slog.DiscardHandler)
	ways := map[string]struct {
		target string
		config func(address, ca string) (shipping.ShipperConfig, error)
	}{
		"server": {remote.address, func(address, ca string) (shipping.ShipperConfig, error) {
			f := serverFlags{Server: "https://" + address, ServerToken: testToken, ServerCA: ca}
			target, err := f.target(quiet)
			return shipping.ShipperConfig{Server: target}, err
		}},
		"clickhouse": {db.Address(), func(address, ca string) (shipping.ShipperConfig, error) {
			f := databaseFlags{ClickHouse: address, ClickHouseDatabase: "rocelens", ClickHouseUser: user, ClickHousePassword: password, ClickHouseTLS: true, ClickHouseCA: ca}
			return f.shipper(quiet)
		}},
	}
	for name, way := range ways {
		for _, test := range []struct {
			name, ca    string
			certificate tls.Certificate
			says        string
		}{
			{"right", ca, ours.issue(t, "127.0.0.1", hour), ""},
			{"for another address", ca, ours.issue(t, "192.0.2.1", hour), "is for another name"},
			{"expired", ca, ours.issue(t, "127.0.0.1", time.Now().Add(-time.Minute)), "is out of date"},
			{"of another authority", ca, others.issue(t, "127.0.0.1", hour), "with --" + name + "-ca"},
			{"of an authority that nobody named", "", ours.issue(t, "127.0.0.1", hour), "with --" + name + "-ca"},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				config, err := way.config(encrypted(t, test.certificate, way.target), test.ca)
				require.NoError(t, err)
				problem := outcome(t, config)
				if test.says == "" {
					assert.Empty(t, problem)
				}
				assert.Contains(t, problem, test.says)
			})
		}
		t.Run(name+"/without TLS", func(t *testing.T) {
			config, err := way.config(remote.address, ca) // which answers who speaks TLS to it in the clear
			require.NoError(t, err)
			assert.Contains(t, outcome(t, config), "does not speak TLS")
		})
	}
	assert.Equal(t, "2", db.ask(t, "SELECT count() FROM agents FINAL"), "those that were right")
}

// SIGHUP reads the file of the authority again, and rows that waited go out.
func TestReloadReadsTheAuthorityAgain(t *testing.T) {
	db := newDatabase(t)
	remote := newService(t, db)
	_, right := vethtest.Pair(t)
	ours := newAuthority(t)
	address := reach(t, right, encrypted(t, ours.issue(t, "127.0.0.1", time.Now().Add(time.Hour)), remote.address))
	directory := t.TempDir()
	ca, config := filepath.Join(directory, "ca.pem"), filepath.Join(directory, "agent.toml")
	require.NoError(t, os.WriteFile(ca, newAuthority(t).text(), 0o600))
	text := fmt.Sprintf("interface = [%q]\ninterval = \"1s\"\nstate = %q\nserver = %q\nserver-token = %q\nserver-ca = %q\n", right.Interface, directory, "https://"+address, testToken, ca)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	var stderr lockedBuffer
	agent := exec.CommandContext(t.Context(), "ip", "netns", "exec", right.Namespace, program(t, "rocelens-agent"), "run", "--config", config)
	agent.Stderr = &stderr
	require.NoError(t, agent.Start())
	says := func(what string) {
		t.Helper()
		require.Eventually(t, func() bool { return bytes.Contains(stderr.Bytes(), []byte(what)) }, patience, glance, "%s", stderr.Bytes())
	}
	says("comes from nobody that this host trusts")
	require.NoError(t, os.WriteFile(ca, []byte("no certificate"), 0o600))
	require.NoError(t, agent.Process.Signal(syscall.SIGHUP))
	says("there is no PEM certificate in it")
	require.NoError(t, os.WriteFile(ca, ours.text(), 0o600))
	require.NoError(t, agent.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool { return db.ask(t, "SELECT count() > 0 FROM agent_intervals") == "1" }, patience, glance, "%s", stderr.Bytes())
	require.NoError(t, agent.Process.Signal(os.Interrupt))
	require.NoError(t, agent.Wait(), "%s", stderr.Bytes())
}
