package lockwheel

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// isAnsweredBy checks that a command goes to the server at this place.
func isAnsweredBy(t *testing.T, server *Server, place int) {
	t.Helper()
	wanted := fmt.Sprintf("[port %s]", server.Servers()[place].Port)
	if got, err := server.Command("CONFIG", "GET", "port"); err != nil || fmt.Sprint(got) != wanted {
		t.Fatalf("%v, %v, not %s", got, err, wanted)
	}
}

func TestWithoutItsMasterATopologyIsSteered(t *testing.T) {
	server := RunWith(t, Options{Topology: "sentinel 3 --replicas 1", Time: "manual"})
	mustReply(t, server, "OK", "SET", "k", "v")
	server.Faults.Down(0)
	isAnsweredBy(t, server, 1)
	server.Clock.Advance(60 * time.Second)
	if info := server.Clock.Info(); info.Monotonic != 60*time.Second {
		t.Fatalf("%+v", info)
	}
	mustReply(t, server, "v", "GET", "k")
	mustReply(t, server, "OK", "SET", "k", "w") // the replica is the master now
	server.Await.Key("k", "EXISTS")
	server.Faults.Add("refuse", ReplyError("ERR as asked"), Match{On: "GET"})
	if rules := server.Faults.List(); len(rules) != 1 {
		t.Fatalf("%+v", rules)
	}
	server.History.Mark("the master is down")
	if told := server.History.Entries(); len(told.Entries) == 0 {
		t.Fatal("the history is empty")
	}
	if verdict := server.Verify(VerifyOptions{Level: Lint}); verdict.Events == 0 {
		t.Fatalf("%+v", verdict)
	}
	report := server.Report()
	teller := server.Servers()[1].Addr()
	for _, wanted := range []string{
		"lockwheel on " + server.Addr() + ", seed 0\nserver 0 is down: server 1 (" + teller + ") tells\nclock:\n    mode=manual ",
		" mark client=", "text=the master is down",
	} {
		if !strings.Contains(report, wanted) {
			t.Errorf("%q is not in\n%s", wanted, report)
		}
	}
	if !server.Faults.Up(0) || server.Faults.Up(0) {
		t.Fatal("it was down once")
	}
	isAnsweredBy(t, server, 0)
	if report := server.Report(); strings.Contains(report, "server 0 is down") {
		t.Error(report)
	}
}

func TestAServerThatHangsInAScriptIsKilled(t *testing.T) {
	server := RunWith(t, Options{Topology: "sentinel 3 --replicas 1", Args: []string{"--busy-reply-threshold", "1"}})
	hanging := newConnection(server.access)
	ended := make(chan error)
	go func() {
		_, err := hanging.do("EVAL", "while true do end", 0)
		ended <- err
	}()
	for asked(t, server.Servers()[0], "PING") == "PONG" { // until it is busy
	}
	server.Faults.Down(0)
	if err := <-ended; err == nil || isRefusal(err) {
		t.Fatal(err)
	}
	isAnsweredBy(t, server, 1)
}

func TestAServerThatComesBackByTheClockIsAskedAgain(t *testing.T) {
	server := RunWith(t, Options{Topology: "cluster 3x1", Time: "manual", Args: []string{"--requirepass", "secret"}})
	server.Faults.Exempt(false)
	server.Faults.Down(0, DownOptions{BackAfter: 5 * time.Second})
	isAnsweredBy(t, server, 1)
	server.Faults.Down(1, DownOptions{BackAfter: 5 * time.Second})
	isAnsweredBy(t, server, 2)
	server.Clock.Advance(5 * time.Second)
	isAnsweredBy(t, server, 0)
}

func TestAnAwaitGoesOnAtAnotherServer(t *testing.T) {
	server := RunWith(t, Options{Topology: "sentinel 3 --replicas 1", Time: "manual"})
	awaited := make(chan bool)
	go func() {
		defer close(awaited)
		server.Await.Key("k", "EXISTS", AwaitOptions{Limit: time.Minute})
	}()
	for !strings.Contains(fmt.Sprint(asked(t, server.Servers()[0], "CLIENT", "LIST")), " cmd=await.key ") {
	}
	server.Faults.Down(0)
	server.Clock.Advance(60 * time.Second)
	mustReply(t, server, "OK", "SET", "k", "v")
	<-awaited
}

// A request that was cut may have been executed: only what the package sends by itself is sent again.
func TestACommandIsNotSentTwice(t *testing.T) {
	server := RunWith(t, Options{Topology: "replicas 1"})
	server.Faults.Exempt(false)
	server.Faults.Add("cut", CloseAfter(), Match{On: "INCR"})
	if got, err := server.Command("INCR", "k"); err == nil {
		t.Fatal(got)
	}
	mustReply(t, server, "1", "GET", "k")
}

func TestWithoutAnyServerTheErrorIsOfTheFirst(t *testing.T) {
	server := RunWith(t, Options{Topology: "replicas 1"})
	server.Stop()
	if _, err := server.Command("PING"); err == nil || !strings.Contains(err.Error(), server.Addr()) {
		t.Fatal(err)
	}
}
