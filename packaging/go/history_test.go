package lockwheel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func heldAndExpired(t *testing.T, server *Server) {
	if _, err := server.Command("LOCK.ACQUIRE", "order:42", "first", "PX", 8000); err != nil {
		t.Fatal(err)
	}
	server.Clock.Advance(8 * time.Second)
	if _, err := server.Command("LOCK.ACQUIRE", "order:42", "second", "PX", 8000); err != nil {
		t.Fatal(err)
	}
}

func events(server *Server, filters ...Filters) string {
	var told []string
	for _, entry := range server.History.Entries(filters...).Entries {
		if entry.Key != "" {
			told = append(told, entry.Event+" "+entry.Owner)
		}
	}
	return strings.Join(told, ", ")
}

// overlap puts two into a section that a lock protects.
func overlap(server *Server) {
	server.History.Enter("order:42", "first")
	server.History.Enter("order:42", "second")
}

func TestTheHistoryTellsWhoTookALockAndHowItEnded(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	heldAndExpired(t, server)
	if told := events(server); told != "acquired first, lost first, acquired second" {
		t.Fatal(told)
	}
	told := server.History.Entries(Filters{Key: "order:*", Owner: "first"})
	acquired, lost := told.Entries[0], told.Entries[1]
	if acquired.Kind != "native" || acquired.Mode != "exclusive" || *acquired.TTL != 8*time.Second {
		t.Errorf("%+v", acquired)
	}
	if lost.Cause != "expired" || *lost.Grant != *acquired.Grant || lost.Monotonic-acquired.Monotonic != 8*time.Second {
		t.Errorf("%+v", lost)
	}
	if told.First != 1 || told.Truncated {
		t.Errorf("%+v", told)
	}
	if after := events(server, Filters{Since: lost.Seq}); after != "acquired second" {
		t.Error(after)
	}
	if one := server.History.Entries(Filters{Count: 1}); len(one.Entries) != 1 {
		t.Errorf("%+v", one)
	}
	var read struct{ Entries []struct{ Event string } }
	if err := json.Unmarshal([]byte(server.History.JSON(Filters{Owner: "second"})), &read); err != nil || len(read.Entries) != 1 {
		t.Error(read, err)
	}
	if edn := server.History.EDN(); !strings.Contains(edn, ":process") || !strings.Contains(edn, ":ok") {
		t.Error(edn)
	}
}

func TestATestWritesIntoTheHistory(t *testing.T) {
	server := Run(t)
	server.History.Mark("the second begins")
	server.History.Enter("room", "a")
	server.History.Enter("room", "b", EnterOptions{Token: 7})
	if !server.History.Leave("room", "a") || server.History.Leave("room", "a") {
		t.Error("it was there, and is no longer")
	}
	server.History.Observe("my:*")
	mustReply(t, server, "OK", "SET", "my:lock", "me")
	server.History.Unobserve("my:*")
	mustReply(t, server, "OK", "SET", "my:other", "me")
	if told := events(server, Filters{Key: "my:*"}); told != "acquired me" {
		t.Error(told)
	}
	marks := 0
	for _, entry := range server.History.Entries().Entries {
		if entry.Event == "mark" && entry.Text == "the second begins" {
			marks++
		}
	}
	if marks != 1 {
		t.Error(marks)
	}
}

func TestOtherStatesAreAwaited(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	heldAndExpired(t, server)
	lost := server.Await.Event("lost", EventOptions{Key: "order:*", Owner: "first"})
	if second := server.Await.Event("acquired", EventOptions{Count: 2}); second <= lost {
		t.Fatal(lost, second)
	}
	server.Await.Calls("LOCK.ACQUIRE", 2)
	server.Await.Clients(1)
	server.Await.Clients(0, ClientsOptions{Name: "nobody", Exact: true})
	server.Await.Blocked(0, BlockedOptions{Exact: true})
	server.Await.Waiters("k", 3, CountOptions{AtMost: true})
	server.Await.Idle(10*time.Millisecond, IdleOptions{Name: "nobody"})
}

func TestTwoInASectionAreFound(t *testing.T) {
	server := Run(t)
	if verdict := server.Verify(VerifyOptions{Level: Lint}); verdict.Verdict != "ok" || len(verdict.Findings) != 0 {
		t.Fatalf("%+v", verdict)
	}
	overlap(server)
	verdict := server.Verify(VerifyOptions{Level: Violation, Key: "order:*"})
	if verdict.Verdict != "violated" || len(verdict.Findings) != 1 {
		t.Fatalf("%+v", verdict)
	}
	found := verdict.Findings[0]
	if found.Level != Violation || found.Invariant != "mutual-exclusion" || found.Key != "order:42" ||
		len(found.Seqs) != len(found.Evidence) || len(found.Owners) != 2 {
		t.Fatalf("%+v", found)
	}
	if other := server.Verify(VerifyOptions{Level: Lint, Key: "other"}); len(other.Findings) != 0 {
		t.Fatalf("%+v", other)
	}
	if err := server.Check(Violation); err == nil {
		t.Error("there are findings")
	}
	if err := server.Check(); err != nil {
		t.Fatal(err)
	}
}

// passing is a test that has not failed by itself, as seen from the package.
type passing struct {
	failing
	failed bool
}

func (p *passing) Failed() bool { return p.failed }
func (p *passing) Errorf(format string, args ...any) {
	p.failed = true
	p.Logf(format, args...)
}

func TestAFindingFailsATest(t *testing.T) {
	for _, level := range []Level{Violation, Suspect, Off} {
		test := &passing{}
		server := RunWith(test, Options{Verify: level})
		overlap(server)
		var findings FindingsError
		if err := server.Check(); errors.As(err, &findings) != (level != Off) {
			t.Error(err)
		}
		for _, cleanup := range test.cleanups {
			cleanup()
		}
		if test.failed != (level != Off) {
			t.Errorf("%q: %v", level, test.failed)
		}
		if told := strings.Contains(test.logged, "violation mutual-exclusion of order:42: "); told != test.failed {
			t.Errorf("%q: %s", level, test.logged)
		}
	}
}

// givesBackLate lets a fault refuse a renewal, so that the lease ends; the owner gives back what another has had since.
func givesBackLate(t *testing.T, server *Server) {
	t.Helper()
	server.Faults.Add("renewals", ReplyError("ERR as asked"), Match{On: "LOCK.RENEW"})
	refused := func(words ...any) {
		t.Helper()
		if _, err := client(server).do(words...); err == nil {
			t.Fatalf("%v is not refused", words)
		}
	}
	server.Command("LOCK.ACQUIRE", "order:42", "first", "PX", 1000)
	refused("LOCK.RENEW", 1, "order:42", "first", "PX", 1000)
	server.Clock.Advance(time.Second)
	server.Command("LOCK.ACQUIRE", "order:42", "second")
	server.Command("LOCK.RELEASE", "order:42", "second")
	refused("LOCK.RELEASE", "order:42", "first")
}

func TestWhatIsOnlySuspectFailsATestThatMindsIt(t *testing.T) {
	for _, level := range []Level{Violation, Suspect} {
		test := &passing{}
		server := RunWith(test, Options{Verify: level, Time: "manual"})
		givesBackLate(t, server)
		for _, cleanup := range test.cleanups {
			cleanup()
		}
		if test.failed != (level == Suspect) {
			t.Errorf("%q: %v", level, test.failed)
		}
		for _, wanted := range []string{"suspect ", "renewals (ON LOCK.RENEW DO ERROR ERR as asked): hits=1"} {
			if test.failed && !strings.Contains(test.logged, wanted) {
				t.Errorf("%q is not in\n%s", wanted, test.logged)
			}
		}
	}
}

func TestAReportHasHistoryFindingsAndFaults(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	server.Faults.Add("refuse", ReplyError("ERR as asked"), Match{On: "GET"})
	if _, err := client(server).do("GET", "k"); err == nil {
		t.Fatal("it is refused")
	}
	heldAndExpired(t, server)
	overlap(server)
	report := server.Report()
	for _, wanted := range []string{
		"\nfaults that acted:\n    refuse (ON GET DO ERROR ERR as asked): hits=1 held=0\n",
		"\nfindings:\n    violation mutual-exclusion of order:42: ", " 8000 ms lost order:42 ", "owner=first",
	} {
		if !strings.Contains(report, wanted) {
			t.Errorf("%q is not in\n%s", wanted, report)
		}
	}
	for line := 0; line < 200; line++ {
		server.History.Mark(fmt.Sprintf("line %d", line))
	}
	long := server.Report()
	if !strings.Contains(long, " earlier entries)\n") || !strings.Contains(long, "line 199") ||
		strings.Contains(long, "line 50") {
		t.Error(long)
	}
}
