package lockwheel

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// client is one as tests have it: faults do not spare it.
func client(server *Server) *connection { return &connection{servers: []*access{server.access}} }

func TestTheServerKnowsEveryAction(t *testing.T) {
	server := Run(t)
	for _, action := range []Action{
		DropRequest(), DropRequest(time.Second), DropReply(), DropReply(time.Second),
		Delay(time.Second), Delay(time.Second, time.Millisecond), DelayReply(time.Millisecond),
		DelayReply(time.Second, time.Millisecond), Hold(), HoldReply(), ReplyError("ERR as asked"),
		ReplyNull(), ReplyOK(), ReplyInt(-1), ReplyBulk("text"), ReplyRaw("$x"), Close(), CloseAfter(), Reset(),
		ResetAfter(), Slice(3), Slice(3, time.Millisecond), Bandwidth(64), Truncate(3), Duplicate(),
		LosePublish(), NoScript(), Expire(), ArgAdd(2, -1), TimeShift(),
	} {
		server.Faults.Add("rule", action, Match{On: "GET"})
		words, _ := request(action)
		wanted := "ON GET DO " + line(words)
		if rules := server.Faults.List(); len(rules) != 1 || rules[0].Rule != wanted {
			t.Errorf("%+v, not %s", rules, wanted)
		}
		if !server.Faults.Remove("rule") || server.Faults.Remove("rule") {
			t.Error("it was there, and is no longer")
		}
	}
}

func TestARuleHasEveryMatcher(t *testing.T) {
	server := Run(t)
	named, lib, id, half := ClientsNamed("w*"), ClientsOfLib("go-redis"), ClientID(7), 0.5
	server.Faults.Add("all", DropReply(), Match{
		On: "set", Key: "order:*", Channel: "news", Arg: Argument{2, "v"}, Client: named, Result: "OK", Skip: 1, Times: 2,
		Prob: &half,
	})
	server.Faults.Add("script", NoScript(), Match{Script: strings.Repeat("a", 40), Client: lib})
	server.Faults.Add("text", ReplyError("ERR no"), Match{Contains: "hincrby", Client: id})
	rules := server.Faults.List()
	wanted := "ON set KEY order:* CHANNEL news ARG 2 v CLIENTNAME w* RESULT OK SKIP 1 TIMES 2 PROB 0.5 DO DROPREPLY"
	if first := rules[0]; first.Name != "all" || first.Rule != wanted || *first.Left != 2 {
		t.Errorf("%+v", first)
	}
	if rules[1].Left != nil || rules[2].Left != nil {
		t.Errorf("%+v", rules)
	}
	server.Faults.Seed(7)
	if count := server.Faults.Clear(); count != 3 {
		t.Error(count)
	}
}

func TestAFaultMeetsAClientAndNotTheTest(t *testing.T) {
	server := Run(t)
	other := client(server)
	server.Faults.Add("refuse", ReplyError("ERR as asked"), Match{On: "SET", Times: 1})
	mustReply(t, server, "OK", "SET", "k", "test")
	if _, err := other.do("SET", "k", "client"); err == nil || err.Error() != "ERR as asked" {
		t.Fatal(err)
	}
	server.Await.Fault("refuse", 1)
	if _, err := other.do("SET", "k", "client"); err != nil {
		t.Fatal(err)
	}
	server.Faults.Exempt(false)
	server.Faults.Add("again", ReplyError("ERR again"), Match{On: "GET"})
	if _, err := server.Command("GET", "k"); err == nil || err.Error() != "ERR again" {
		t.Fatal(err)
	}
	if err := server.Reset(); err != nil {
		t.Fatal(err)
	}
	mustReply(t, server, nil, "GET", "k")
}

func TestAnInterleavingInAWishedOrder(t *testing.T) {
	server := Run(t)
	server.Faults.Add("writes", Hold(), Match{On: "SET"})
	done := make(chan error, 2)
	for range [2]int{} {
		go func() {
			_, err := client(server).do("SET", "k", "v")
			done <- err
		}()
	}
	server.Await.Held("writes", 2)
	mustReply(t, server, int64(0), "EXISTS", "k")
	if one, rest := server.Faults.Go("writes", 1), server.Faults.Go("writes"); one != 1 || rest != 1 {
		t.Fatal(one, rest)
	}
	for range [2]int{} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func TestClientsFreezeAndAreCutOff(t *testing.T) {
	server := Run(t)
	other := client(server)
	other.do("CLIENT", "SETNAME", "frozen")
	done := make(chan error)
	set := func(value string) {
		_, err := other.do("SET", "k", value)
		done <- err
	}
	if count := server.Faults.FreezeClient(ClientsNamed("frozen"), 0); count != 1 {
		t.Fatal(count)
	}
	go set("v")
	if count := server.Faults.ThawClient(ClientsNamed("frozen")); count != 1 {
		t.Fatal(count)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if count := server.Faults.Partition(AllClients(), Both); count != 1 {
		t.Fatal(count)
	}
	go set("again")
	mustReply(t, server, "v", "GET", "k")
	if count := server.Faults.Heal(); count != 1 {
		t.Fatal(count)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	mustReply(t, server, "again", "GET", "k")
}

func TestAFailoverLosesWhatNoReplicaHas(t *testing.T) {
	server := Run(t)
	mustReply(t, server, "OK", "SET", "before", "x")
	server.Faults.Lag()
	mustReply(t, server, "OK", "SET", "after", "x")
	server.Faults.Failover()
	mustReply(t, server, int64(1), "EXISTS", "before", "after")
	server.Faults.Lag(LagOptions{Key: "order:*"})
	mustReply(t, server, "OK", "MSET", "order:1", "x", "other", "x")
	server.Faults.Failover(FailoverOptions{Tokens: true})
	mustReply(t, server, int64(1), "EXISTS", "order:1", "other")
}

func TestARestartForgetsAndLetsNobodyIn(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	mustReply(t, server, "OK", "SET", "k", "v")
	server.Faults.Restart(RestartOptions{Down: 5 * time.Second})
	socket, err := net.Dial("tcp", server.Addr())
	if err == nil {
		fmt.Fprint(socket, "PING\r\n")
		if count, err := socket.Read(make([]byte, 1)); err == nil {
			t.Fatalf("%d bytes have come", count)
		}
	}
	server.Clock.Advance(5 * time.Second)
	mustReply(t, server, nil, "GET", "k")
	mustReply(t, server, "OK", "SET", "k", "v")
	server.Faults.Restart(RestartOptions{Keep: true})
	mustReply(t, server, "v", "GET", "k")
	server.Faults.Restart(RestartOptions{Tokens: true})
	mustReply(t, server, int64(0), "DBSIZE")
}
