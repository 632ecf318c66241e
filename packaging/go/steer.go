package lockwheel

import (
	"fmt"
)

// What the generated methods send.

// ask steers the server by what only fails when the server does, or the test is wrong.
func (s *Server) ask(arguments ...any) any {
	s.test.Helper()
	return s.mustBy(s.steering.do, arguments)
}

// until asks for a wait, on a connection of its own, so that other goroutines go on meanwhile.
func (s *Server) until(arguments ...any) int64 {
	s.test.Helper()
	waiting := s.waits.take()
	defer s.waits.give(waiting)
	reply := s.mustBy(waiting.wait, arguments)
	if reply == nil {
		words, _ := request(arguments)
		s.fail("%s: not within the limit", line(words))
	}
	return integer(reply)
}

// own asks on the connection of [Server.Command], so that faults meet the request.
func (s *Server) own(arguments ...any) (any, error) {
	words, err := request(arguments)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", arguments[0], err)
	}
	reply, err := s.commands.do(words...)
	return reply, s.reason(err)
}

// askAvoiding asks another server than this one, which may hang in a script, if another lives.
func (s *Server) askAvoiding(server int, arguments ...any) any {
	s.test.Helper()
	other := s.beside(server)
	defer other.close()
	reply := s.mustBy(other.do, arguments)
	s.commands.leave(server)
	return reply
}

func (s *Server) mustBy(send func(...any) (any, error), arguments []any) any {
	s.test.Helper()
	words, err := request(arguments)
	if err != nil {
		s.fail("%v: %v", arguments[0], err)
	}
	reply, err := send(words...)
	if err != nil {
		s.fail("%s: %v", line(words), s.reason(err))
	}
	return reply
}

// fail ends the test.
func (s *Server) fail(format string, arguments ...any) {
	s.test.Helper()
	s.test.Fatalf(format, arguments...)
	panic(fmt.Sprintf(format, arguments...)) // a test that goes on is none
}

// Exempt sets whether rules ignore the requests of [Server.Command]. By default they do.
func (f *Faults) Exempt(isExempt bool) { f.server.commands.setExempt(isExempt) }
