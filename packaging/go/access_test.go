package lockwheel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	password = "p@ss w/ö%"
	login    = ":p%40ss%20w%2F%C3%B6%25@"
)

// overTLSAlone are the arguments of a server over TLS alone, to which clients must show a certificate. A directory has
// ca.crt, and the .crt and .key of server and client that it has signed.
func overTLSAlone(t *testing.T) []string {
	directory := os.Getenv("LOCKWHEEL_TEST_CERTIFICATES")
	if directory == "" {
		t.Skip("LOCKWHEEL_TEST_CERTIFICATES does not say where certificates are")
	}
	file := func(name string) string { return filepath.Join(directory, name) }
	return []string{
		"--tls-port-file", filepath.Join(t.TempDir(), "port"),
		"--tls-cert-file", file("server.crt"), "--tls-key-file", file("server.key"),
		"--tls-ca-cert-file", file("ca.crt"),
		"--tls-client-cert-file", file("client.crt"), "--tls-client-key-file", file("client.key"),
	}
}

// allOfIt is what goes over the package's own connections.
func allOfIt(t *testing.T, server *Server) {
	big := strings.Repeat("x", 3_000_000)
	mustReply(t, server, "OK", "SET", "k", big)
	mustReply(t, server, big, "GET", "k")
	mustReply(t, server, int64(1), "PEXPIRE", "k", 1000)
	if turned := server.Clock.Advance(time.Second); turned.Fired != 1 {
		t.Fatalf("%+v", turned)
	}
	server.Await.Key("k", "GONE")
	if _, err := server.Command("NO"); err == nil || !strings.HasPrefix(err.Error(), "ERR unknown command") {
		t.Fatal(err)
	}
	if err := server.Reset(); err != nil {
		t.Fatal(err)
	}
	server.commands.close()
	mustReply(t, server, "PONG", "PING")
	if report := server.Report(); !strings.Contains(report, "mode=manual") || strings.Contains(report, "PEXPIRE") {
		t.Fatal(report)
	}
}

func TestWithAPassword(t *testing.T) {
	args := []string{"--requirepass", "no", "--requirepass", password}
	server := RunWith(t, Options{Time: "manual", Args: args})
	if wanted := "redis://" + login + server.Addr(); server.URL() != wanted {
		t.Fatal(server.URL(), wanted)
	}
	allOfIt(t, server)
	mustReply(t, server, "OK", "CONFIG", "SET", "requirepass", "other")
	server.commands.close()
	if _, err := server.Command("PING"); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS") {
		t.Fatal(err)
	}
}

func TestOverTLSAlone(t *testing.T) {
	server := RunWith(t, Options{Time: "manual", Args: overTLSAlone(t)})
	if wanted := "rediss://" + server.Addr(); server.URL() != wanted {
		t.Fatal(server.URL(), wanted)
	}
	allOfIt(t, server)
}

func TestOverTLSWithAPassword(t *testing.T) {
	server := RunWith(t, Options{Time: "manual", Args: append(overTLSAlone(t), "--requirepass", password)})
	if wanted := "rediss://" + login + server.Addr(); server.URL() != wanted {
		t.Fatal(server.URL(), wanted)
	}
	allOfIt(t, server)
}

func TestTheServersOwnCertificateIsEnough(t *testing.T) {
	server := RunWith(t, Options{Args: append(overTLSAlone(t)[:6], "--tls-auth-clients", "no")})
	mustReply(t, server, "PONG", "PING")
}

func TestWhoListensForPlainClientsTooIsAskedThere(t *testing.T) {
	args := overTLSAlone(t)
	server := RunWith(t, Options{Args: append([]string{"--port-file", args[1] + "-plain"}, args...)})
	if wanted := "redis://" + server.Addr(); server.URL() != wanted {
		t.Fatal(server.URL(), wanted)
	}
	mustReply(t, server, "PONG", "PING")
}

func TestAServerWhoseCertificatesCannotBeUsedDoesNotGoOn(t *testing.T) {
	args := append(overTLSAlone(t), "--tls-client-cert-file", "/no/such.crt")
	if _, err := Start(Options{Args: args}); err == nil || !strings.Contains(err.Error(), "/no/such.crt") {
		t.Fatal(err)
	}
}
