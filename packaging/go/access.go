package lockwheel

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"
)

// access is how a server is reached: what its arguments and its ready line say of address, password and TLS.
type access struct {
	host     string
	port     string
	password string      // the default user's; empty: none is asked for
	tls      *tls.Config // of the package's own connections; nil: they do not go over TLS
}

// ready is what the ready line says; where the server listens for plain clients too, of these.
type ready struct {
	port   string
	tls    bool
	socket string // the unix socket on which the server listens alone: then there is no port
}

func newAccess(listens ready, host string, args arguments) (*access, error) {
	a := &access{host: host, port: listens.port, password: args.value("requirepass")}
	if !listens.tls {
		return a, nil
	}
	var err error
	a.tls, err = overTLS(args)
	return a, err
}

func (a *access) address() string { return net.JoinHostPort(a.host, a.port) }

func (a *access) url() string {
	whole := url.URL{Scheme: "redis", Host: a.address()}
	if a.tls != nil {
		whole.Scheme = "rediss"
	}
	if a.password != "" {
		whole.User = url.UserPassword("", a.password)
	}
	return whole.String()
}

// dial connects within a limit, unless that is 0.
func (a *access) dial(limit time.Duration) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: limit}
	if a.tls == nil {
		return dialer.Dial("tcp", a.address())
	}
	return tls.DialWithDialer(dialer, "tcp", a.address(), a.tls)
}

// overTLS trusts the certificates that the arguments name, and no others, and shows the client's, or else the server's
// own.
func overTLS(args arguments) (*tls.Config, error) {
	trusted := x509.NewCertPool()
	for _, name := range []string{"tls-ca-cert-file", "tls-cert-file"} {
		path := args.value(name)
		if path == "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if !trusted.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate", path)
		}
	}
	config := &tls.Config{
		// It was started on this address, whatever names its certificate has: only the name is not looked at.
		InsecureSkipVerify: true,
		VerifyConnection:   func(state tls.ConnectionState) error { return leadsTo(trusted, state.PeerCertificates) },
	}
	if args.value("tls-auth-clients") == "no" {
		return config, nil
	}
	of := "tls"
	if args.value("tls-client-cert-file") != "" {
		of = "tls-client"
	}
	shown, err := tls.LoadX509KeyPair(args.value(of+"-cert-file"), args.value(of+"-key-file"))
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{shown}
	return config, nil
}

func leadsTo(trusted *x509.CertPool, chain []*x509.Certificate) error {
	between := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		between.AddCert(certificate)
	}
	any := []x509.ExtKeyUsage{x509.ExtKeyUsageAny}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: trusted, Intermediates: between, KeyUsages: any})
	return err
}
