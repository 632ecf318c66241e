package lockwheel

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// calls has each method that a test fails by, in a line of its own.
var calls = map[string]func(*Server){
	"Clock.Freeze":           func(s *Server) { s.Clock.Freeze() },
	"Clock.Resume":           func(s *Server) { s.Clock.Resume() },
	"Clock.Reset":            func(s *Server) { s.Clock.Reset() },
	"Clock.Step":             func(s *Server) { s.Clock.Step(time.Microsecond) },
	"Clock.Set":              func(s *Server) { s.Clock.Set(time.Unix(0, 1)) },
	"Clock.Advance":          func(s *Server) { s.Clock.Advance(time.Microsecond) },
	"Clock.Next":             func(s *Server) { s.Clock.Next(1, AdvanceOptions{Settle: time.Microsecond}) },
	"Clock.Info":             func(s *Server) { s.Clock.Info() },
	"Await.Blocked":          func(s *Server) { s.Await.Blocked(1) },
	"Await.Waiters":          func(s *Server) { s.Await.Waiters("k", 1) },
	"Await.Subscribers":      func(s *Server) { s.Await.Subscribers("c", 1) },
	"Await.Clients":          func(s *Server) { s.Await.Clients(1, ClientsOptions{Limit: time.Microsecond}) },
	"Await.Key":              func(s *Server) { s.Await.Key("k", "lst") },
	"Await.Calls":            func(s *Server) { s.Await.Calls("GET", 1) },
	"Await.Idle":             func(s *Server) { s.Await.Idle(time.Microsecond) },
	"Await.Event":            func(s *Server) { s.Await.Event("acquired") },
	"Await.Fault":            func(s *Server) { s.Await.Fault("rule", 1) },
	"Await.Held":             func(s *Server) { s.Await.Held("rule", 1) },
	"Faults.Add":             func(s *Server) { s.Faults.Add("rule", Delay(0), Match{Result: "NULL"}) },
	"Faults.Go":              func(s *Server) { s.Faults.Go("rule") },
	"Faults.List":            func(s *Server) { s.Faults.List() },
	"Faults.Remove":          func(s *Server) { s.Faults.Remove("rule") },
	"Faults.Clear":           func(s *Server) { s.Faults.Clear() },
	"Faults.Seed":            func(s *Server) { s.Faults.Seed(1) },
	"Faults.FreezeClient":    func(s *Server) { s.Faults.FreezeClient(AllClients(), time.Microsecond) },
	"Faults.ThawClient":      func(s *Server) { s.Faults.ThawClient(AllClients()) },
	"Faults.Partition":       func(s *Server) { s.Faults.Partition(AllClients(), "IM") },
	"Faults.Heal":            func(s *Server) { s.Faults.Heal() },
	"Faults.Lag":             func(s *Server) { s.Faults.Lag() },
	"Faults.Failover":        func(s *Server) { s.Faults.Failover() },
	"Faults.Restart":         func(s *Server) { s.Faults.Restart(RestartOptions{Down: time.Microsecond}) },
	"Faults.Down":            func(s *Server) { s.Faults.Down(0, DownOptions{BackAfter: time.Microsecond}) },
	"Faults.Up":              func(s *Server) { s.Faults.Up(0) },
	"Faults.Part":            func(s *Server) { s.Faults.Part([]int{0}) },
	"Faults.PartFromClients": func(s *Server) { s.Faults.PartFromClients([]int{0}, Both) },
	"Faults.LagBy":           func(s *Server) { s.Faults.LagBy(time.Microsecond) },
	"Faults.FailoverTo":      func(s *Server) { s.Faults.FailoverTo(1) },
	"History.Entries":        func(s *Server) { s.History.Entries() },
	"History.JSON":           func(s *Server) { s.History.JSON() },
	"History.EDN":            func(s *Server) { s.History.EDN() },
	"History.Text":           func(s *Server) { s.History.Text() },
	"History.Mark":           func(s *Server) { s.History.Mark("line") },
	"History.Observe":        func(s *Server) { s.History.Observe("k") },
	"History.Unobserve":      func(s *Server) { s.History.Unobserve("k") },
	"History.Enter":          func(s *Server) { s.History.Enter("k", "me") },
	"History.Stats":          func(s *Server) { s.History.Stats() },
	"History.Leave":          func(s *Server) { s.History.Leave("k", "me") },
	"Server.Verify":          func(s *Server) { s.Verify(VerifyOptions{Level: "suspekt"}) },
	"Server.FailOn":          func(s *Server) { s.FailOn("lnt") },
}

// never are the methods by which no test fails.
var never = []string{
	"Faults.Exempt", "Server.Addr", "Server.Host", "Server.Port",
	"Server.URL", "Server.Servers", "Server.Command", "Server.Reset", "Server.ResetKeepingClients", "Server.Stop",
	"Server.Report", "Server.Check",
}

func TestEachMethodIsInTheTable(t *testing.T) {
	for _, one := range []any{&Clock{}, &Await{}, &Faults{}, &History{}, &Server{}} {
		kind := reflect.TypeOf(one)
		for n := 0; n < kind.NumMethod(); n++ {
			name := kind.Elem().Name() + "." + kind.Method(n).Name
			if _, fails := calls[name]; fails == slices.Contains(never, name) {
				t.Errorf("%s is to be in one of the tables", name)
			}
		}
	}
}

// onPurpose has tests fail: those in whose environment it is.
const onPurpose = "LOCKWHEEL_TEST_FAILS_ON_PURPOSE"

// TestFailsOnPurpose is run by the test behind it, in another process: no server is there.
func TestFailsOnPurpose(t *testing.T) {
	if os.Getenv(onPurpose) == "" {
		t.Skip("it fails")
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			server := newServer(Options{})
			server.asks(&access{host: loopback, port: "1"})
			server.test = t
			call(server)
		})
	}
	t.Run("the end", func(t *testing.T) {
		server := RunWith(t, Options{Verify: Violation}) // its findings fail the test
		overlap(server)
	})
}

// location is the file and the line that begin what a test has logged.
var location = regexp.MustCompile(`(?m)^ +(\w+\.go:\d+): `)

func TestAFailureNamesTheLineOfTheTest(t *testing.T) {
	source, err := os.ReadFile("lines_test.go")
	if err != nil {
		t.Fatal(err)
	}
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(itself, "-test.run=^TestFailsOnPurpose$", "-test.v")
	child.Env = append(os.Environ(), onPurpose+"=yes")
	told, err := child.CombinedOutput()
	if err == nil {
		t.Fatalf("the tests do not fail:\n%s", told)
	}
	named := map[string]bool{}
	for _, found := range location.FindAllSubmatch(told, -1) {
		named[string(found[1])] = true
	}
	for n, line := range strings.Split(string(source), "\n") {
		at := fmt.Sprintf("lines_test.go:%d", n+1)
		wanted := strings.Contains(line, `func(s *Server) {`) && strings.HasPrefix(line, "\t\"") ||
			strings.HasSuffix(line, "// its findings fail the test")
		if wanted && !named[at] {
			t.Errorf("no failure names %s: %s", at, line)
		}
		delete(named, at)
	}
	if len(named) > 0 {
		t.Errorf("failures name %v:\n%s", named, told)
	}
}
