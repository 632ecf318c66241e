package lockwheel

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

func startedWithSentinels(t *testing.T, args ...string) *Server {
	t.Helper()
	return RunWith(t, Options{Topology: "sentinel 3 --replicas 1", Time: "manual", Args: args})
}

// isToldByTheSecond is whether the report says that the second server tells, for the first one hangs.
func isToldByTheSecond(server *Server) bool {
	second := server.Servers()[1]
	return strings.Split(server.Report(), "\n")[1] == "server 0 hangs: server 1 ("+second.Addr()+") tells"
}

// steersByTheSecond checks that control goes to the second server, which takes over meanwhile.
func steersByTheSecond(t *testing.T, server *Server) {
	t.Helper()
	if turned := server.Clock.Advance(time.Minute); turned.Fired == 0 {
		t.Fatal("nothing has fired")
	}
	if role, ok := asked(t, server.Servers()[1], "ROLE").([]any); !ok || role[0] != "master" {
		t.Fatal(role)
	}
	server.Await.Key("k", "GONE")
	if !isToldByTheSecond(server) {
		t.Fatal(server.Report())
	}
}

func TestControlPassesOverAServerThatIsSilent(t *testing.T) {
	server := startedWithSentinels(t, "--enable-debug-command", "yes")
	slept := make(chan error)
	sleeping := newConnection(server.access)
	go func() {
		_, err := sleeping.do("DEBUG", "SLEEP", 3600)
		slept <- err
	}()
	// The history of another server leaves out one that hangs.
	for fields(asked(t, server.Servers()[1], "LOCK.HISTORY", "COUNT", 0))["truncated"] != int64(1) {
	}
	steersByTheSecond(t, server)
	server.Faults.Down(0)
	<-slept
	server.Faults.Up(0)
	if report := server.Report(); strings.Contains(report, "server 0 hangs") {
		t.Fatal(report)
	}
}

func TestControlPassesOverAServerThatRefusesAll(t *testing.T) {
	server := startedWithSentinels(t, "--busy-reply-threshold", "1")
	ended := make(chan error)
	hanging := newConnection(server.access)
	go func() {
		_, err := hanging.do("EVAL", "while true do end", 0)
		ended <- err
	}()
	for {
		if err, ok := asked(t, server.Servers()[0], "PING").(error); ok && strings.HasPrefix(err.Error(), "BUSY ") {
			break
		}
	}
	steersByTheSecond(t, server)
	// A command is asked of the first one that lives.
	if reply, err := server.Command("PING"); !isHanging(err) {
		t.Fatal(reply, err)
	}
	mustReply(t, server, "OK", "SCRIPT", "KILL")
	<-ended
	if report := server.Report(); strings.Contains(report, "server 0 hangs") {
		t.Fatal(report)
	}
}

// fake is a server that answers a request on a connection by what replies makes of the connection's number and the
// request's name; empty: nothing.
type fake struct {
	access *access
	mutex  sync.Mutex
	asked  map[string]int
}

func newFake(t *testing.T, replies func(number int, name string) string) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	made := &fake{access: &access{host: host, port: port}, asked: map[string]int{}}
	go func() {
		for number := 0; ; number++ {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			ofThis := number // before Go 1.22, all rounds share one number
			go made.answer(socket, func(name string) string { return replies(ofThis, name) })
		}
	}()
	return made
}

func (f *fake) answer(socket net.Conn, reply func(name string) string) {
	defer socket.Close()
	for piece := make([]byte, 4096); ; {
		length, err := socket.Read(piece)
		if err != nil {
			return
		}
		name := strings.Split(string(piece[:length]), "\r\n")[2]
		f.mutex.Lock()
		f.asked[name]++
		f.mutex.Unlock()
		socket.Write([]byte(reply(name)))
	}
}

func (f *fake) count(name string) int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.asked[name]
}

func steeringOf(t *testing.T, servers ...*fake) *connection {
	t.Helper()
	var places []*access
	for _, server := range servers {
		places = append(places, server.access)
	}
	control := newConnection(places...)
	control.isSteering = true
	t.Cleanup(control.close)
	return control
}

func dead(t *testing.T) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	return &fake{access: &access{host: host, port: port}}
}

func healthy(int, string) string { return "+OK\r\n" }

func silent(int, string) string { return "" }

func refusing(_ int, name string) string {
	if name == "FAULT.EXEMPT" {
		return "+OK\r\n"
	}
	return "-BUSY Redis is busy running a script.\r\n"
}

func TestAServerIsAskedUntilOneAnswers(t *testing.T) {
	late := newFake(t, func(number int, name string) string {
		if number < 2 {
			return ""
		}
		return "+OK\r\n"
	})
	if reply, err := steeringOf(t, late, dead(t)).do("PING"); reply != "OK" || late.count("PING") != 1 {
		t.Fatal(reply, err)
	}
	mute, last := newFake(t, silent), newFake(t, healthy)
	if reply, err := steeringOf(t, mute, last).wait("PING"); reply != "OK" || mute.count("PING") != 0 {
		t.Fatal(reply, err)
	}
}

func TestARequestThatWasRefusedGoesToTheNextServer(t *testing.T) {
	busy, free := newFake(t, refusing), newFake(t, healthy)
	reply, err := steeringOf(t, busy, free).do("CLOCK.ADVANCE", 1)
	if reply != "OK" || busy.count("CLOCK.ADVANCE") != 1 || free.count("CLOCK.ADVANCE") != 1 {
		t.Fatal(reply, err)
	}
	for _, other := range []*fake{dead(t), newFake(t, refusing), newFake(t, silent)} {
		if reply, err := steeringOf(t, newFake(t, refusing), other).do("CLOCK.ADVANCE", 1); !isHanging(err) {
			t.Fatal(reply, err)
		}
	}
	failing := newFake(t, func(_ int, name string) string {
		if name == "FAULT.EXEMPT" {
			return "+OK\r\n"
		}
		return "-ERR no\r\n"
	})
	untouched := newFake(t, healthy)
	if reply, err := steeringOf(t, failing, untouched).do("CLOCK.ADVANCE", 1); err != Error("ERR no") {
		t.Fatal(reply, err)
	}
	if untouched.count("FAULT.EXEMPT") != 0 {
		t.Fatal("the other server was asked")
	}
}

func TestAServerThatHasEndedSaysSo(t *testing.T) {
	server := RunWith(t, Options{})
	server.Stop()
	if _, err := server.Command("PING"); err == nil || !strings.HasPrefix(err.Error(), "the server has ended: it was stopped (") {
		t.Fatal(err)
	}
}
