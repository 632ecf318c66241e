package lockwheel

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// host is where servers of this package listen.
const host = "127.0.0.1"

// access is how a server is reached: what its arguments and its ready line say of address, password and TLS.
type access struct {
	port     string
	password string      // the default user's; empty: none is asked for
	tls      *tls.Config // of the package's own connections; nil: they do not go over TLS
}

// ready is what the ready line says; where the server listens for plain clients too, of these.
type ready struct {
	port string
	tls  bool
}

func newAccess(listens ready, args []string) (*access, error) {
	a := &access{port: listens.port, password: option(args, "requirepass")}
	if !listens.tls {
		return a, nil
	}
	var err error
	a.tls, err = overTLS(args)
	return a, err
}

func (a *access) address() string { return net.JoinHostPort(host, a.port) }

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

func (a *access) dial() (net.Conn, error) {
	if a.tls == nil {
		return net.Dial("tcp", a.address())
	}
	return tls.Dial("tcp", a.address(), a.tls)
}

// overTLS trusts the certificates that the arguments name, and no others, and shows the client's, or else the server's
// own.
func overTLS(args []string) (*tls.Config, error) {
	trusted := x509.NewCertPool()
	for _, name := range []string{"tls-ca-cert-file", "tls-cert-file"} {
		path := option(args, name)
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
	if option(args, "tls-auth-clients") == "no" {
		return config, nil
	}
	of := "tls"
	if option(args, "tls-client-cert-file") != "" {
		of = "tls-client"
	}
	shown, err := tls.LoadX509KeyPair(option(args, of+"-cert-file"), option(args, of+"-key-file"))
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

// option is the value of `--name value`, the last one, as the server takes it; empty without.
func option(args []string, name string) string {
	value := ""
	for i := 1; i < len(args); i++ {
		if strings.EqualFold(args[i-1], "--"+name) {
			value = args[i]
		}
	}
	return value
}
