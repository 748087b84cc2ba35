package shipping

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
)

// tlsTrouble says what is wrong between an agent and whom it ships to, and which flag changes it; empty when it is not TLS.
// Flags begin with the name of the target: server or clickhouse.
func tlsTrouble(err error, where, target string) string {
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var noTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return fmt.Sprintf("the certificate of %s comes from nobody that this host trusts: name the file of its authority with --%s-ca", where, target)
	case errors.As(err, &hostname):
		return fmt.Sprintf("the certificate of %s is for another name (%v): name it in --%s as its certificate does", where, hostname, target)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %s is out of date, or the clock of this host is wrong (%v): renew it there", where, invalid)
	case errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not valid (%v): replace it there", where, invalid)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &noTLS) && target == "server":
		return where + " does not speak TLS: begin the address of --server with http://, or name the port that does"
	case errors.As(err, &noTLS):
		return where + " does not speak TLS: name the port that does, usually 9440, or leave out --clickhouse-tls"
	}
	return ""
}
