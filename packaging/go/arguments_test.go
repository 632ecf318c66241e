package lockwheel

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// with starts a server with these arguments, which ends with the test.
func with(t *testing.T, args ...string) *Server {
	t.Helper()
	return RunWith(t, Options{Args: args})
}

func mustNotStart(t *testing.T, options Options, wanted string) {
	t.Helper()
	server, err := Start(options)
	if err == nil {
		server.Stop()
	}
	if err == nil || !strings.Contains(err.Error(), wanted) || strings.Contains(err.Error(), "slowlog") {
		t.Fatalf("%v, not %q", err, wanted)
	}
}

func TestAUnixSocketStandsBesideAFreePort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.s")
	server := with(t, "--unixsocket", path)
	mustReply(t, server, "PONG", "PING")
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fmt.Fprint(client, "PING\r\n")
	if reply, err := bufio.NewReader(client).ReadString('\n'); reply != "+PONG\r\n" {
		t.Fatal(reply, err)
	}
	server.Stop()
	mustReply(t, RunWith(t, Options{Topology: "replicas 1", Args: []string{"--unixsocket", path}}), "PONG", "PING")
}

func TestAServerThatIsReadyWithoutAPortIsRefused(t *testing.T) {
	folder := t.TempDir()
	socket, file := filepath.Join(folder, "y.s"), filepath.Join(folder, "x.conf")
	if err := os.WriteFile(file, []byte("unixsocket "+socket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustNotStart(t, Options{Args: []string{file}}, "the server is ready at "+socket+" and has no port")
	mustNotStart(t, Options{Args: []string{"--sentinel"}}, "Args have --sentinel")
}

func TestAConfigurationFileStandsFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(file, []byte("maxclients 77\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := with(t, file, "--databases", "3")
	for _, wanted := range []string{"maxclients 77", "databases 3"} {
		name, _, _ := strings.Cut(wanted, " ")
		if reply, err := server.Command("CONFIG", "GET", name); fmt.Sprint(reply) != "["+wanted+"]" {
			t.Fatal(reply, err)
		}
	}
	mustNotStart(t, Options{Args: []string{"/no/such.conf"}}, "'/no/such.conf'")
}

func TestAPasswordIsReadAsTheServerReadsIt(t *testing.T) {
	for _, each := range []struct {
		login, seed string
		args        []string
	}{
		{":x%20y@", "0", []string{"--requirepass 'x y'"}},
		{":x%20y@", "0", []string{`--REQUIREPASS  "x\x20y" `}},
		{":%27xy%27@", "0", []string{"--requirepass", "'xy'"}},
		{"", "0", []string{"--requirepass", ""}},
		{":--seed@", "5", []string{"--save", "--requirepass", "--seed", "--seed", "5"}},
	} {
		server := with(t, each.args...)
		mustReply(t, server, "PONG", "PING")
		if wanted := "redis://" + each.login + server.Addr(); server.URL() != wanted {
			t.Errorf("%s, not %s", server.URL(), wanted)
		}
		if report := server.Report(); !strings.Contains(report, ", seed "+each.seed+"\n") {
			t.Error(report)
		}
	}
}

func TestWordsOfALineAreUnquoted(t *testing.T) {
	for line, wanted := range map[string][]string{
		` a "b c" 'd\'e' `:          {"a", "b c", "d'e"},
		`"a\n\xc3\xa4\\n" "x\"y" ä`: {"a\nä\\n", `x"y`, "ä"},
		`'\n' ''`:                   {`\n`, ""},
		`a 'b`:                      {`a 'b`},
		`a 'b'c`:                    {`a 'b'c`},
	} {
		if got := splitWords(line); !slices.Equal(got, wanted) {
			t.Errorf("%s: %q, not %q", line, got, wanted)
		}
	}
	if got := readArguments([]string{"x.conf", "--save", "--port", "1"}).leading; !slices.Equal(got, []string{"x.conf"}) {
		t.Error(got)
	}
}

func TestTheAddressIsTheOneThatIsBound(t *testing.T) {
	got := []string{hostOf(), hostOf("*", "-::*"), hostOf("::1 127.0.0.1"), hostOf("-::1"), hostOf("127.0.0.2")}
	if wanted := []string{loopback, loopback, loopback, loopback6, "127.0.0.2"}; !reflect.DeepEqual(got, wanted) {
		t.Fatal(got)
	}
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6")
	}
	listener.Close()
	server := with(t, "--bind", "::1")
	mustReply(t, server, "PONG", "PING")
	if server.Host() != "::1" || server.URL() != "redis://[::1]:"+server.Port() {
		t.Fatal(server.Host(), server.URL())
	}
	topology := RunWith(t, Options{Topology: "replicas 1", Args: []string{"--bind", "::1"}})
	mustReply(t, topology, "PONG", "PING")
	if replica := topology.Servers()[1]; replica.URL != "redis://[::1]:"+replica.Port || replica.Addr() != replica.URL[8:] {
		t.Fatal(replica)
	}
}

func TestThatNoMoreClientsAreLetInIsTold(t *testing.T) {
	server := with(t, "--maxclients", "1")
	mustReply(t, server, "PONG", "PING")
	if reply, err := server.steering.do("CLOCK.INFO"); err == nil || err.Error() != "ERR max number of clients reached" {
		t.Fatal(reply, err)
	}
}

func TestATopologyRefusesWhatWouldHaveNoEffect(t *testing.T) {
	for _, words := range []string{"cluster 3x1 --port 1", "replicas 1 --lag 5 --bind ::1"} {
		mustNotStart(t, Options{Topology: words}, "it belongs into Args")
	}
}

func TestWhatHasNoReplyIsRefused(t *testing.T) {
	server := Run(t)
	if _, err := server.Command(); err == nil || !strings.HasPrefix(err.Error(), "a command has a name") {
		t.Fatal(err)
	}
	for _, mode := range []any{"off", []byte("SKIP")} {
		if _, err := server.Command("client", []byte("Reply"), mode); err == nil || !strings.Contains(err.Error(), "has no reply") {
			t.Fatal(err)
		}
	}
	mustReply(t, server, "OK", "CLIENT", "REPLY", "ON")
	mustReply(t, server, "PONG", "PING")
}

func TestAnInstantBeyondTheServersIsRefused(t *testing.T) {
	if _, err := request(time.Unix(1<<60, 0)); err == nil {
		t.Fatal("it is taken for another")
	}
}

func TestASharedServerThatCannotBeResetIsReplaced(t *testing.T) {
	var last string
	for _, end := range []string{"script", "SHUTDOWN", "none"} {
		t.Run(end, func(t *testing.T) {
			server := Shared(t)
			if server.URL() == last {
				t.Fatal("the same server")
			}
			last = server.URL()
			mustReply(t, server, int64(0), "DBSIZE")
			switch end {
			case "script":
				mustReply(t, server, "OK", "CONFIG", "SET", "busy-reply-threshold", 10)
				go newConnection(server.access).do("EVAL", "redis.call('set','a','b') while true do end", 0)
				for err := error(nil); err == nil || !strings.HasPrefix(err.Error(), "BUSY"); {
					_, err = server.Command("PING")
				}
			case "SHUTDOWN":
				server.Command("SHUTDOWN", "NOSAVE")
			}
		})
	}
}

func TestASkippedTestIsNotVerified(t *testing.T) {
	t.Run("skipped", func(t *testing.T) {
		RunWith(t, Options{Verify: Violation, Args: []string{"--lock-history", "no"}})
		t.Skip("as asked")
	})
}

func TestAHistoryThatIsOffIsNoVerdict(t *testing.T) {
	server := RunWith(t, Options{Verify: Lint, Args: []string{"--lock-history", "no"}})
	const wanted = "inconclusive: the history is off: CONFIG SET lock-history yes turns it on"
	if verdict := server.Verify(VerifyOptions{Level: Lint}); verdict.line() != wanted || verdict.LeftOut != 0 {
		t.Errorf("%+v", verdict)
	}
	if err := server.Check(); err == nil || err.Error() != wanted {
		t.Error(err)
	}
	if report := server.Report(); !strings.Contains(report, "\nfindings:\n    "+wanted+"\n") {
		t.Error(report)
	}
	server.level = Off // The end of the test checks, too.
	if got := (Verdict{Verdict: "violated", LeftOut: 3}).lines(); !slices.Equal(got, []string{"violated", "and 3 more"}) {
		t.Error(got)
	}
}
