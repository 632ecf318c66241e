package lockwheel

import (
	"fmt"
	"sync"
)

// Run starts a server for one test. It ends with the test; when the test has failed, its report is in the test's log.
func Run(t TB) *Server {
	t.Helper()
	return RunWith(t, Options{})
}

// RunWith is [Run] with options.
func RunWith(t TB, options Options) *Server {
	t.Helper()
	server, err := Start(options)
	if err != nil {
		t.Fatalf("lockwheel: %v", err)
	}
	server.test = t
	t.Cleanup(func() {
		t.Helper()
		server.end(t)
		server.Stop()
	})
	return server
}

// shared is the server of all tests of this binary that ask for it, and of one at a time.
var shared struct {
	turn   sync.Mutex
	server *Server
}

// Shared gives the tests of a binary one server, which is reset before each. Parallel tests wait for each other here,
// because there is one clock; for tests that run side by side there is [Run].
func Shared(t TB) *Server {
	t.Helper()
	shared.turn.Lock()
	t.Cleanup(shared.turn.Unlock)
	server, err := sharedAsAtItsStart()
	if err != nil {
		t.Fatalf("lockwheel: %v", err)
	}
	server.test = t
	server.level = Off
	t.Cleanup(func() {
		t.Helper()
		server.end(t)
		server.test = untested{server: server}
	})
	return server
}

// sharedAsAtItsStart is the shared server after a reset, or a new one where a test has ended it, or left it so that it
// cannot be reset.
func sharedAsAtItsStart() (*Server, error) {
	if shared.server != nil {
		if err := shared.server.Reset(); err == nil {
			return shared.server, nil
		}
		shared.server.Stop()
		shared.server = nil
	}
	started, err := Start(Options{})
	if err == nil {
		shared.server = started
	}
	return started, err
}

// end fails a test by what the history has of it, where it is to and was not skipped, and puts the report into the log of
// one that has failed.
func (s *Server) end(t TB) {
	t.Helper()
	skipped, _ := t.(interface{ Skipped() bool })
	if !t.Failed() && (skipped == nil || !skipped.Skipped()) {
		if err := s.Check(); err != nil {
			t.Errorf("%v", err)
		}
	}
	if t.Failed() {
		t.Logf("%s", s.Report())
	}
}

// untested stands for the test of a server that was given to none: what would end the test panics.
type untested struct {
	TB
	server *Server
}

func (u untested) Helper() {}

func (u untested) Fatalf(format string, arguments ...any) {
	panic(fmt.Sprintf(format, arguments...) + "\n" + u.server.Report())
}
