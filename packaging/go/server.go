package lockwheel

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Member is one of the servers of a topology.
type Member struct {
	Role string // what it began as: master, replica or sentinel
	Port string // the port on which it listens
	URL  string // redis://127.0.0.1:port, with the password of --requirepass
	Host string // 127.0.0.1, or the address of --bind
}

// Addr is the address of the server, 127.0.0.1:port.
func (m Member) Addr() string { return net.JoinHostPort(m.Host, m.Port) }

// TB is what of [testing.TB] the package needs.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, arguments ...any)
	Errorf(format string, arguments ...any)
	Fatalf(format string, arguments ...any)
}

// Server is a running server.
type Server struct {
	Groups

	access  *access
	places  []*access // of the servers that may be asked, the first first
	members []Member
	seed    string
	level   Level
	process *exec.Cmd
	// What a test asks and what steers the server go by connections of their own: a fault may hold one of them.
	commands *connection
	steering *connection
	waits    idleConnections
	log      *serverLog
	ended    chan struct{}
	test     TB

	isStopped atomic.Bool // by Stop
}

// Start starts a server that ends with [Server.Stop], or with this process.
func Start(options Options) (*Server, error) {
	if err := options.Verify.check("Options.Verify"); err != nil {
		return nil, err
	}
	args := readArguments(options.Args)
	if err := refuse(options); err != nil {
		return nil, err
	}
	program, err := binary(options.Binary)
	if err != nil {
		return nil, err
	}
	more, err := request(options)
	if err != nil {
		return nil, fmt.Errorf("Options.%w", err)
	}
	if args.value("unixsocket") != "" && !args.isOverTLS() {
		// Beside a unix socket, 0 is no port unless a file waits for its number.
		folder, err := os.MkdirTemp("", "lockwheel")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(folder)
		more = append(more, "--port-file", filepath.Join(folder, "port"))
	}
	s := newServer(options)
	s.process = exec.Command(program, commandLine(options, args, more)...)
	output, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.process.Stderr = s.process.Stdout
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("%s does not start: %w", program, err)
	}
	listens := make(chan ready, 1)
	go func() {
		s.log.read(output, args.isOverTLS(), listens)
		s.process.Wait()
		close(s.ended)
	}()
	if err := s.reach(<-listens, args); err != nil {
		s.process.Process.Kill()
		<-s.ended
		return nil, err
	}
	return s, nil
}

// refuse says which options cannot have an effect.
func refuse(options Options) error {
	topology := readArguments(strings.Fields(options.Topology))
	for _, name := range own {
		if topology.has(name) {
			return fmt.Errorf("Topology has --%s, which would have no effect there: it belongs into Args", name)
		}
	}
	if slices.Contains(options.Args, "--sentinel") {
		return errors.New("Args have --sentinel: a sentinel does not say that it is ready; a Topology of sentinels has some")
	}
	return nil
}

// reach lets it ask the servers that the program has started.
func (s *Server) reach(listening ready, args arguments) error {
	if listening.socket != "" {
		return fmt.Errorf("the server is ready at %s and has no port: beside a unix socket it needs --port or --port-file",
			listening.socket)
	}
	if listening.port == "" {
		<-s.ended
		return fmt.Errorf("the server has ended with %v: %s", s.process.ProcessState, s.log.said())
	}
	members, host := s.log.servers(), hostOf(args.values("bind")...)
	if len(members) > 0 {
		host = members[0].Host
	}
	first, err := newAccess(listening, host, args)
	if err != nil {
		return err
	}
	places := []*access{first}
	for n, one := range members {
		at := &access{host: one.Host, port: one.Port, password: first.password}
		one.URL = at.url()
		s.members = append(s.members, one)
		if n > 0 && one.Role != "sentinel" {
			places = append(places, at)
		}
	}
	s.asks(places...)
	return nil
}

func newServer(options Options) *Server {
	seed := readArguments(options.Args).value("seed")
	if seed == "" {
		seed = fmt.Sprint(options.Seed)
	}
	s := &Server{seed: seed, level: options.Verify, log: &serverLog{}, ended: make(chan struct{})}
	s.test = untested{server: s}
	s.Groups = groupsOf(s)
	return s
}

// asks lets it ask these servers, the first that lives.
func (s *Server) asks(places ...*access) {
	s.access, s.places = places[0], places
	s.commands, s.steering = newConnection(places...), s.newSteering()
	s.waits.open = s.newSteering
}

// newSteering is a connection for the package's own requests.
func (s *Server) newSteering() *connection {
	steering := newConnection(s.places...)
	steering.isSteering = true
	return steering
}

// beside is a connection to another server than this one, which may hang in a script, if another can kill it.
func (s *Server) beside(place int) *connection {
	var others, itself []*access
	for n, server := range s.places {
		if n == place {
			itself = append(itself, server)
		} else {
			others = append(others, server)
		}
	}
	beside := newConnection(append(others, itself...)...)
	beside.isSteering = true
	return beside
}

func commandLine(options Options, args arguments, more []any) []string {
	clock := options.Time
	if clock == "" {
		clock = "real"
	}
	var words []string
	if options.Topology != "" {
		words = append([]string{"topology"}, strings.Fields(options.Topology)...)
	}
	// A configuration file stands first.
	words = append(words, args.leading...)
	words = append(words,
		"--port", "0", "--bind", loopback, "--time", string(clock), "--seed", fmt.Sprint(options.Seed), "--exit-with-parent",
		"--loglevel", "warning",
		// What a report shows as the history of locks and as the last commands.
		"--lock-history", "yes",
		"--slowlog-log-slower-than", "0", "--slowlog-max-len", "64",
	)
	for _, word := range more {
		words = append(words, argumentText(word))
	}
	return append(words, args.parameters...)
}

// Addr is the server's address, 127.0.0.1:port.
func (s *Server) Addr() string { return s.access.address() }

// Host is 127.0.0.1, or the address of --bind where that does not name it.
func (s *Server) Host() string { return s.access.host }

// Port is the port on which the server listens.
func (s *Server) Port() string { return s.access.port }

// URL is redis://127.0.0.1:port, with the password of --requirepass, and rediss:// over TLS alone.
func (s *Server) URL() string { return s.access.url() }

// Servers are those of a topology: masters, then replicas, then sentinels. Without a topology there are none.
func (s *Server) Servers() []Member { return append([]Member(nil), s.members...) }

// Command sends any command on the server's own connection: nil, int64, string or []any. What the server refuses is an
// [Error]. It refuses what has no name, or no reply: CLIENT REPLY OFF and SKIP.
func (s *Server) Command(arguments ...any) (any, error) {
	if err := refuseUnanswered(arguments); err != nil {
		return nil, err
	}
	return s.command(arguments...)
}

// reason is an error of a request, which says so if the server has ended.
func (s *Server) reason(err error) error {
	if err == nil || isRefusal(err) {
		return err
	}
	select {
	case <-s.ended:
	default:
		return err
	}
	how := fmt.Sprintf(" with %v", s.process.ProcessState)
	if s.isStopped.Load() {
		how = ": it was stopped"
	}
	return fmt.Errorf("the server has ended%s (%w)", how, err)
}

// Reset makes the server as it was at its start: no keys, no scripts, no faults, its configuration, its clock.
// Connections of other clients are cut. A topology is not reset: start another.
func (s *Server) Reset() error { return s.reset("CONTROL.RESET") }

// ResetKeepingClients is [Server.Reset], but the connections of clients stay.
func (s *Server) ResetKeepingClients() error { return s.reset("CONTROL.RESET", "KEEPCLIENTS") }

func (s *Server) reset(words ...any) error {
	if len(s.members) > 0 {
		return errors.New("a topology is not reset: start another")
	}
	s.commands.close()
	s.commands.setExempt(true)
	s.waits.close()
	_, err := s.steering.do(words...)
	return err
}

// Stop ends the server and waits for that. A second call does nothing.
func (s *Server) Stop() {
	s.commands.close()
	s.steering.close()
	s.waits.close()
	select {
	case <-s.ended:
	default:
		s.isStopped.Store(true)
	}
	s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(5 * time.Second):
		s.process.Process.Signal(os.Kill)
		<-s.ended
	}
}

// steer sends one of the package's own requests.
func (s *Server) steer(words ...any) (any, error) {
	reply, err := s.steering.do(words...)
	return reply, s.reason(err)
}

// command sends a request on the connection of the test's commands, so that faults meet it.
func (s *Server) command(words ...any) (any, error) {
	reply, err := s.commands.do(words...)
	return reply, s.reason(err)
}

// fail ends the test.
func (s *Server) fail(format string, arguments ...any) {
	s.test.Helper()
	s.test.Fatalf(format, arguments...)
	panic(fmt.Sprintf(format, arguments...)) // a test that goes on is none
}
