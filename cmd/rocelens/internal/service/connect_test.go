package service_test

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
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/store/embedded"
)

func TestWhatIsWrongWithAServerOfTheUsersOwn(t *testing.T) {
	needDatabase(t)
	server, err := embedded.Start(t.Context(), embedded.Options{Data: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	user, password := server.Credentials()
	reader, readerPassword := server.ReaderCredentials()

	trusted, ca := certificate(t, "127.0.0.1", time.Now().Add(time.Hour))
	other, otherCA := certificate(t, "192.0.2.1", time.Now().Add(time.Hour))
	expired, expiredCA := certificate(t, "127.0.0.1", time.Now().Add(-time.Hour))
	overTLS := func(c tls.Certificate) string {
		return forward(t, server.Address(), &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}, nil)
	}
	tlsAddress, otherAddress, expiredAddress := overTLS(trusted), overTLS(other), overTLS(expired)
	old := forward(t, server.Address(), nil, ageServer)
	silent := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	closing := listen(t, func(net.Conn) {})
	unused := listen(t, func(net.Conn) {})
	_, port, err := net.SplitHostPort(unused)
	require.NoError(t, err)
	nobody := net.JoinHostPort("127.0.0.2", port) // the listener has 127.0.0.1 alone

	where := "--clickhouse (environment ROCELENS_CLICKHOUSE; configuration file clickhouse)"
	who := "--clickhouse-user and --clickhouse-password (environment ROCELENS_CLICKHOUSE_USER and ROCELENS_CLICKHOUSE_PASSWORD; configuration file clickhouse-user and clickhouse-password)"
	useTLS := "--clickhouse-tls (environment ROCELENS_CLICKHOUSE_TLS; configuration file clickhouse-tls)"
	for _, tc := range []struct {
		name     string
		database service.Database
		want     []string
	}{
		{
			"wrong password",
			service.Database{Address: server.Address(), User: user, Password: "wrong"},
			[]string{"ClickHouse at " + server.Address() + " does not let the user rocelens in with the password that is given: set " + who, "ClickHouse says: rocelens: Authentication failed"},
		},
		{"no password", service.Database{Address: server.Address(), User: user}, []string{"does not let the user rocelens in without a password: set " + who}},
		{"unknown host", service.Database{Address: "clickhouse.invalid:9000"}, []string{"there is no host clickhouse.invalid for ClickHouse to be at: correct " + where}},
		{"refused", service.Database{Address: nobody}, []string{"nothing listens at " + nobody + ": start ClickHouse there, or correct " + where}},
		{"no answer", service.Database{Address: silent}, []string{silent + " does not answer in time: check that a ClickHouse server runs there", "or correct " + where}},
		{"ends at once", service.Database{Address: closing}, []string{closing + " ends the connection: check that it is the port of ClickHouse's native protocol"}},
		{"port of HTTP", service.Database{Address: server.HTTPAddress(), User: user, Password: password}, []string{server.HTTPAddress() + " speaks HTTP: name the port of the native protocol, usually 9000, with " + where}},
		{"TLS is spoken", service.Database{Address: tlsAddress, User: user, Password: password}, []string{tlsAddress + " speaks TLS: set " + useTLS}},
		{"TLS is not spoken", service.Database{Address: server.Address(), User: user, Password: password, TLS: true}, []string{server.Address(), "TLS: name the port that does, usually 9440, or leave out " + useTLS}},
		{"HTTP instead of TLS", service.Database{Address: server.HTTPAddress(), User: user, Password: password, TLS: true}, []string{server.HTTPAddress(), "TLS: name the port that does, usually 9440, or leave out " + useTLS}},
		{"certificate of nobody", service.Database{Address: tlsAddress, User: user, Password: password, TLS: true}, []string{
			"the certificate of " + tlsAddress + " comes from nobody that this machine trusts: name the file of its authority with --clickhouse-ca (environment ROCELENS_CLICKHOUSE_CA",
		}},
		{"certificate of another", service.Database{Address: otherAddress, User: user, Password: password, TLS: true, CAFile: otherCA}, []string{
			"the certificate of " + otherAddress + " is for another name (x509: certificate is valid for 192.0.2.1, not 127.0.0.1)",
		}},
		{"certificate expired", service.Database{Address: expiredAddress, User: user, Password: password, TLS: true, CAFile: expiredCA}, []string{
			"the certificate of " + expiredAddress + " is not valid (x509: certificate has expired",
		}},
		{"too old", service.Database{Address: old, User: user, Password: password}, []string{
			"this ClickHouse is too old: the server at " + old + " is version 22.", "and 24.8 is the oldest that rocelens works with: update it, or name another with " + where,
		}},
		{"missing rights", service.Database{Address: server.Address(), User: reader, Password: readerPassword}, []string{
			"the user reader lacks rights on ClickHouse at " + server.Address() + ": let an administrator run GRANT ALL ON rocelens.* TO reader; GRANT ALL ON rocelens_staging.* TO reader; GRANT TABLE ENGINE ON * TO reader; or name another user with " + who,
			"CREATE DATABASE ON rocelens.*",
		}},
		{"wrong password of the reader", service.Database{Address: server.Address(), User: user, Password: password, Reader: reader, ReaderPassword: "wrong"}, []string{
			"does not let the user reader run statements: set --clickhouse-reader and --clickhouse-reader-password (environment ROCELENS_CLICKHOUSE_READER and ROCELENS_CLICKHOUSE_READER_PASSWORD;",
		}},
		{"reader that may write", service.Database{Address: server.Address(), User: user, Password: password, Reader: user, ReaderPassword: password}, []string{
			"the user rocelens may write, and users' SQL must not: ALTER USER `rocelens` SETTINGS readonly = 2; or name another user with --clickhouse-reader",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.database.User == "" {
				tc.database.User = "default"
			}
			tc.database.Name = "rocelens"
			err := refused(t, service.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Database: tc.database})
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "\n", "one sentence")
			if tc.database.Password != "" {
				require.NotContains(t, err.Error(), tc.database.Password)
			}
		})
	}

	// With everything right TLS is spoken.
	s := start(t, service.Config{Database: service.Database{
		Address: tlsAddress, User: user, Password: password, TLS: true, CAFile: ca,
		HTTPAddress: forward(t, server.HTTPAddress(), &tls.Config{Certificates: []tls.Certificate{trusted}, MinVersion: tls.VersionTLS12}, nil),
		Reader:      reader, ReaderPassword: readerPassword,
	}})
	require.Equal(t, "\"n\"\n1\n", string(s.query(t, map[string]any{"sql": "SELECT 1 AS n", "format": "csv"}).body))
	require.Equal(t, [][]any{{float64(2)}}, s.sql(t, "SELECT 2"))
}

// certificate is one that speaks for itself, and its file.
func certificate(t *testing.T, address string, until time.Time) (c tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rocelens test"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// listen serves connections, each of which ends with serve.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				serve(conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.Wait()
	})
	return listener.Addr().String()
}

// forward leads connections to another address, with TLS towards the client if told so; change alters what the server
// sends first.
func forward(t *testing.T, to string, config *tls.Config, change func([]byte) []byte) string {
	t.Helper()
	return listen(t, func(client net.Conn) {
		if config != nil {
			secured := tls.Server(client, config)
			if secured.HandshakeContext(t.Context()) != nil {
				return
			}
			client = secured
		}
		engine, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer engine.Close()
		go func() {
			_, _ = io.Copy(engine, client)
			_ = engine.(*net.TCPConn).CloseWrite()
		}()
		if change != nil {
			first := make([]byte, 4096)
			n, err := engine.Read(first)
			if err != nil {
				return
			}
			if _, err := client.Write(change(first[:n])); err != nil {
				return
			}
		}
		_, _ = io.Copy(client, engine)
	})
}

// ageServer makes the server's first packet one of version 22: after kind and name comes the major version.
func ageServer(hello []byte) []byte {
	const major = 2 + len("ClickHouse")
	out := bytes.Clone(hello)
	if len(out) > major {
		out[major] = 22
	}
	return out
}
