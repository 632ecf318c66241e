package lockwheel

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTheClockEndsALease(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	mustReply(t, server, "OK", "SET", "lease", "holder", "PX", 30000)
	if turned := server.Clock.Advance(29999 * time.Millisecond); turned.Fired != 0 {
		t.Fatalf("%+v", turned)
	}
	mustReply(t, server, "holder", "GET", "lease")
	if turned := server.Clock.Advance(time.Millisecond); turned.Fired != 1 {
		t.Fatalf("%+v", turned)
	}
	mustReply(t, server, nil, "GET", "lease")
}

func TestTheClockIsFrozenSteppedSetAndRunsOn(t *testing.T) {
	server := Run(t)
	wall := server.Clock.Freeze()
	if got := server.Clock.Step(-time.Hour); !got.Equal(wall.Add(-time.Hour)) {
		t.Fatalf("%v, an hour before %v", got, wall)
	}
	instant := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := server.Clock.Set(instant); !got.Equal(instant) {
		t.Fatal(got)
	}
	mustReply(t, server, "OK", "SET", "k", "v", "PX", 1500)
	info := server.Clock.Info()
	if !info.Wall.Equal(instant) || info.Next == nil || *info.Next != 1500*time.Millisecond {
		t.Fatalf("%+v", info)
	}
	if turned := server.Clock.Next(1); turned.Fired != 1 || !turned.Wall.Equal(instant.Add(1500*time.Millisecond)) {
		t.Fatalf("%+v", turned)
	}
	server.Clock.Resume()
	server.Clock.Reset()
	if info := server.Clock.Info(); info.Mode != "real" || info.Offset != 0 || info.Next != nil {
		t.Fatalf("%+v", info)
	}
}

func TestATurnSettles(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	mustReply(t, server, "OK", "SET", "k", "v", "PX", 10)
	if turned := server.Clock.Advance(time.Second, AdvanceOptions{Settle: time.Millisecond, Limit: time.Second, NoWake: true}); !turned.Settled {
		t.Fatalf("%+v", turned)
	}
}

func TestWaitingReplacesSleeping(t *testing.T) {
	server := Run(t)
	other := newConnection(server.access)
	popped := make(chan any)
	go func() {
		reply, _ := other.do("BLPOP", "list", 0)
		popped <- reply
	}()
	server.Await.Blocked(1, BlockedOptions{Key: "list"})
	server.Await.Blocked(1)
	server.Await.Key("list", "GONE")
	mustReply(t, server, int64(1), "RPUSH", "list", "element")
	if got := fmt.Sprint(<-popped); got != "[list element]" {
		t.Fatal(got)
	}
	mustReply(t, server, "OK", "SET", "k", "v")
	server.Await.Key("k", "EXISTS")
	server.Await.Key("k", "string")
	server.Await.Subscribers("nobody", 0)
	server.Await.Waiters("k", 0)
}

func TestOneServerIsResetBetweenTests(t *testing.T) {
	var url string
	for turn := 0; turn < 3; turn++ {
		t.Run(fmt.Sprint(turn), func(t *testing.T) {
			server := Shared(t)
			if url != "" && url != server.URL() {
				t.Fatalf("another server: %s, %s", url, server.URL())
			}
			url = server.URL()
			mustReply(t, server, int64(0), "EXISTS", "left")
			mustReply(t, server, "OK", "SET", "left", "behind")
			server.Clock.Freeze()
			server.Clock.Advance(time.Hour)
		})
	}
}

// failing is a test that has failed, as seen from the package.
type failing struct {
	cleanups []func()
	logged   string
}

func (f *failing) Helper()                           {}
func (f *failing) Cleanup(cleanup func())            { f.cleanups = append(f.cleanups, cleanup) }
func (f *failing) Failed() bool                      { return true }
func (f *failing) Errorf(format string, args ...any) { f.Logf(format, args...) }
func (f *failing) Logf(format string, args ...any)   { f.logged += fmt.Sprintf(format, args...) }
func (f *failing) Fatalf(format string, args ...any) {
	f.Logf(format, args...)
	panic(f)
}

func TestAFailedTestTellsWhatTheServerKnows(t *testing.T) {
	test := &failing{}
	server := RunWith(test, Options{Seed: 42, Time: "manual"})
	waiting := newConnection(server.access)
	go func() {
		waiting.do("CLIENT", "SETNAME", "who-waits")
		waiting.do("BLPOP", "list", 0)
	}()
	server.Await.Blocked(1)
	server.Command("SET", "order:42", "paid")
	func() {
		defer func() { recover() }()
		server.Await.Key("never", "EXISTS", AwaitOptions{Limit: time.Millisecond})
	}()
	for _, cleanup := range test.cleanups {
		cleanup()
	}
	for _, wanted := range []string{
		"AWAIT.KEY never EXISTS", "not within the limit", "seed 42", "mode=manual", "name=who-waits", "cmd=blpop",
		"SET order:42 paid", "Ready to accept connections",
	} {
		if !strings.Contains(test.logged, wanted) {
			t.Errorf("%q is not in\n%s", wanted, test.logged)
		}
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	if _, err := Start(Options{Args: []string{"--no-such-parameter", "1"}}); err == nil ||
		!strings.Contains(err.Error(), "no-such-parameter") {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	if os.Getenv(variable) != "" {
		t.Setenv(variable, "")
	}
	if _, err := Start(Options{}); !errors.Is(err, ErrNoBinary) {
		t.Fatal(err)
	}
}

func TestRepliesOfEveryKind(t *testing.T) {
	server := Run(t)
	reply, err := server.Command("EVAL", "return {1, 'two', false, {3, redis.error_reply('four')}}", 0)
	if got := fmt.Sprint(reply); err != nil || got != "[1 two <nil> [3 ERR four]]" {
		t.Fatal(got, err)
	}
	var refused Error
	if _, err := server.Command("GET"); !errors.As(err, &refused) || !strings.HasPrefix(string(refused), "ERR wrong") {
		t.Fatal(err)
	}
	mustReply(t, server, "PONG", "PING")
}

func mustReply(t *testing.T, server *Server, wanted any, arguments ...any) {
	t.Helper()
	if got, err := server.Command(arguments...); err != nil || got != wanted {
		t.Fatalf("%v: %v, %v, not %v", arguments, got, err, wanted)
	}
}
