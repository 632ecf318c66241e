package lockwheel

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

const ofOneClient = "0f0e0d0c-0b0a-4908-8706-050403020100:1"

// asRedisson takes a lock as Redisson does without a lease time of the caller's own.
func asRedisson(t *testing.T, server *Server, key string) {
	t.Helper()
	script := "redis.call('hset', KEYS[1], ARGV[1], 1); return redis.call('pexpire', KEYS[1], 30000)"
	mustReply(t, server, int64(1), "EVAL", script, 1, key, ofOneClient)
}

func TestAReportHasRunsOfClientsAndOfCommandsInALine(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	ping := func(client *connection, times int) {
		for n := 0; n < times; n++ {
			if _, err := client.do("PING"); err != nil {
				t.Fatal(err)
			}
		}
	}
	clients := make([]*connection, 15)
	for n := range clients {
		clients[n] = client(server)
		ping(clients[n], 1)
	}
	mustReply(t, server, "PONG", "PING")
	mustReply(t, server, "OK", "SET", "k", "v")
	last := client(server)
	ping(last, 3)
	mustReply(t, server, "v", "GET", "k")
	ping(last, 2)
	report := server.Report()
	// Until here none may be collected, which would close its socket.
	runtime.KeepAlive(clients)
	addr := last.link.socket.LocalAddr()
	for _, wanted := range []string{
		"\nhistory:\n    1-18 0 ms connect x18 client=1-18\n", "\nlast commands:\n    PING (16 times, 16 clients)\n",
		fmt.Sprintf(": SET k v\n    %s: PING (3 times)\n", addr),
		fmt.Sprintf(": GET k\n    %s: PING\n    %[1]s: PING\n", addr),
	} {
		if !strings.Contains(report, wanted) {
			t.Errorf("%q is not in\n%s", wanted, report)
		}
	}
}

func TestAReportTellsOfRedissonsWatchdog(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	asRedisson(t, server, "order:42")
	asRedisson(t, server, "order:43")
	if report := server.Report(); strings.Contains(report, "note: ") {
		t.Error(report)
	}
	server.Clock.Advance(30 * time.Second)
	wanted := "\nfindings:\n    ok\n    note: order:42 and 1 more were lost by expiry after the clock was turned. "
	if report := server.Report(); !strings.Contains(report, wanted) || strings.Count(report, "note: ") != 1 {
		t.Errorf("%q is not in\n%s", wanted, report)
	}
}

func TestWithoutAHistoryAReportHasTheVerdict(t *testing.T) {
	server := Run(t)
	mustReply(t, server, "OK", "CONFIG", "SET", "lock-history", "no")
	if report := server.Report(); !strings.Contains(report, "\nfindings:\n    inconclusive") {
		t.Error(report)
	}
}

func TestALeaseOfAnotherClientIsNoMatterOfAWatchdog(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	heldAndExpired(t, server)
	mustReply(t, server, "OK", "SET", "order:43", ofOneClient, "NX", "PX", 1000)
	server.History.Observe("queue:*")
	mustReply(t, server, "OK", "SET", "queue:1", "job", "PX", 1000)
	server.Clock.Advance(time.Second)
	if report := server.Report(); strings.Contains(report, "order:42 and") || strings.Contains(report, "queue:1 was") {
		t.Error(report)
	}
}
