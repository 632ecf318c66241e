package lockwheel

import (
	"strings"
	"testing"
	"time"
)

// asked asks one of the servers of a topology, as a client does.
func asked(t *testing.T, member Member, arguments ...any) any {
	t.Helper()
	client := newConnection(&access{host: member.Host, port: member.Port})
	t.Cleanup(client.close)
	reply, err := client.do(arguments...)
	if err != nil {
		return err
	}
	return reply
}

func roles(server *Server) string {
	var all []string
	for _, member := range server.Servers() {
		all = append(all, member.Role)
	}
	return strings.Join(all, " ")
}

func TestAServerThatIsKilledCanKeepItsData(t *testing.T) {
	server := RunWith(t, Options{Topology: "replicas 1", Time: "manual"})
	mustReply(t, server, "OK", "SET", "k", "v")
	server.Faults.Down(0, DownOptions{Keep: true})
	server.Faults.Up(0)
	mustReply(t, server, "v", "GET", "k")
	server.Faults.Down(0, DownOptions{BackAfter: 5 * time.Second, Keep: true})
	server.Clock.Advance(5 * time.Second)
	mustReply(t, server, "v", "GET", "k")
	server.Faults.Down(0)
	server.Faults.Up(0)
	mustReply(t, server, nil, "GET", "k")
}

func TestReplicasHaveWhatTheirMasterHasOnOneClock(t *testing.T) {
	server := RunWith(t, Options{Topology: "replicas 2", Time: "manual"})
	if got := roles(server); got != "master replica replica" {
		t.Fatal(got)
	}
	members := server.Servers()
	if members[0].Addr() != server.Addr() || members[2].URL != "redis://"+members[2].Addr() {
		t.Fatalf("%+v", members)
	}
	mustReply(t, server, "OK", "SET", "k", "v", "PX", 1000)
	if got := asked(t, members[2], "GET", "k"); got != "v" {
		t.Fatal(got)
	}
	if err, refused := asked(t, members[1], "SET", "k", "w").(error); !refused || !strings.HasPrefix(err.Error(), "READONLY ") {
		t.Fatal(err)
	}
	server.Clock.Advance(time.Second)
	if got := asked(t, members[2], "GET", "k"); got != nil {
		t.Fatal(got)
	}
	if err := server.Reset(); err == nil {
		t.Fatal("it was reset")
	}
}

func TestALockThatHadNotArrivedIsLostByAFailover(t *testing.T) {
	server := RunWith(t, Options{Topology: "replicas 1 --lag 100", Time: "manual"})
	mustReply(t, server, "OK", "SET", "order", "first", "NX", "PX", 10000)
	mustReply(t, server, "OK", "FAULT.FAILOVER", 1)
	if got := asked(t, server.Servers()[1], "SET", "order", "second", "NX", "PX", 10000); got != "OK" {
		t.Fatal(got)
	}
	if found := server.Verify(VerifyOptions{Level: Violation}).Findings; len(found) == 0 || found[0].Invariant != "mutual-exclusion" {
		t.Fatalf("%+v", found)
	}
}

func TestServersFailByMethod(t *testing.T) {
	server := RunWith(t, Options{Topology: "replicas 2", Time: "manual"})
	both := func(want ...any) {
		t.Helper()
		for n, want := range want {
			if got := asked(t, server.Servers()[n+1], "GET", "k"); got != want {
				t.Fatalf("replica %d has %v, not %v", n+1, got, want)
			}
		}
	}
	server.Faults.LagBy(100 * time.Millisecond)
	mustReply(t, server, "OK", "SET", "k", "v")
	both(nil, nil)
	server.Clock.Advance(100 * time.Millisecond)
	both("v", "v")
	if held := server.Faults.Part([]int{2}, 0); held == 0 {
		t.Fatal("nothing is held")
	}
	mustReply(t, server, "OK", "SET", "k", "w")
	server.Clock.Advance(100 * time.Millisecond)
	both("w", "v")
	server.Faults.PartFromClients([]int{2}, In)
	server.Faults.Heal()
	server.Faults.FailoverTo(1, FailoverOptions{Tokens: true})
	if got := asked(t, server.Servers()[1], "SET", "k", "x"); got != "OK" {
		t.Fatal(got)
	}
	server.Faults.Down(2)
	if !server.Faults.Up(2) || server.Faults.Up(2) {
		t.Fatal("it was down once")
	}
	server.Faults.Down(2, DownOptions{BackAfter: 5 * time.Second})
	server.Clock.Advance(5 * time.Second)
	if server.Faults.Up(2) {
		t.Fatal("it is still down")
	}
}

func TestTheNodesOfAClusterAndSentinelsAreTold(t *testing.T) {
	cluster := RunWith(t, Options{Topology: "cluster 3x1", Args: []string{"--requirepass", "secret"}})
	if got := roles(cluster); got != "master master master replica replica replica" {
		t.Fatal(got)
	}
	if last := cluster.Servers()[5]; last.URL != "redis://:secret@"+last.Addr() {
		t.Fatal(last.URL)
	}
	watched := RunWith(t, Options{Topology: "sentinel 3"})
	if got := roles(watched); got != "master replica sentinel sentinel sentinel" {
		t.Fatal(got)
	}
	told := asked(t, watched.Servers()[4], "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
	if pair, ok := told.([]any); !ok || pair[1] != watched.Port() {
		t.Fatal(told)
	}
}

func TestWhatIsNoTopologyIsRefused(t *testing.T) {
	if _, err := Start(Options{Topology: "cluster x"}); err == nil || !strings.Contains(err.Error(), "masters x replicas") {
		t.Fatal(err)
	}
	if alone := Run(t).Servers(); len(alone) != 0 {
		t.Fatal(alone)
	}
}
