package lockwheel

import (
	"fmt"
	"strings"
)

// Report tells what the server knows, for a test that has failed: its clock and seed, the clients that wait, the
// faults that have acted, what it finds in the history of locks, that history, the last commands and the last lines of its
// log.
func (s *Server) Report() string {
	var text strings.Builder
	fmt.Fprintf(&text, "lockwheel on %s, seed %s\n", s.Addr(), s.seed)
	if place, err := s.steering.place(); err == nil && place > 0 {
		state := "is down"
		if s.steering.isHanging(0) {
			state = "hangs"
		}
		fmt.Fprintf(&text, "server 0 %s: server %d (%s) tells\n", state, place, s.places[place].address())
	}
	for _, part := range []struct {
		title string
		lines func() []string
	}{
		{"clock", s.clockLines}, {"waiting", s.waitingLines}, {"faults that acted", s.faultLines},
		{"findings", s.findingLines}, {"history", s.historyLines}, {"last commands", s.commandLines},
		{"log", s.log.lines},
	} {
		fmt.Fprintf(&text, "%s:\n", part.title)
		for _, line := range part.lines() {
			fmt.Fprintf(&text, "    %s\n", line)
		}
	}
	return text.String()
}

func (s *Server) clockLines() []string {
	reply, err := s.steering.do("CLOCK.INFO")
	if err != nil {
		return []string{err.Error()}
	}
	told := fields(reply)
	line := ""
	for _, name := range []string{"mode", "wall", "monotonic", "offset", "next", "timers"} {
		line += fmt.Sprintf("%s=%v ", name, told[name])
	}
	return []string{strings.TrimSpace(line)}
}

// waitingLines are the lines of CLIENT LIST of the clients that are blocked.
func (s *Server) waitingLines() []string {
	reply, err := s.steering.do("CLIENT", "LIST")
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	list, _ := reply.(string)
	for _, line := range strings.Split(list, "\n") {
		if flags := field(line, "flags"); strings.Contains(flags, "b") {
			lines = append(lines, fmt.Sprintf("id=%s name=%s addr=%s cmd=%s",
				field(line, "id"), field(line, "name"), field(line, "addr"), field(line, "cmd")))
		}
	}
	return lines
}

// field is the value of one `name=value` of a line of CLIENT LIST.
func field(line, name string) string {
	for _, pair := range strings.Fields(line) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// commandLines are the last commands, the newest last, without those that steer the server. Runs of the same words are
// one line.
func (s *Server) commandLines() []string {
	reply, err := s.steering.do("SLOWLOG", "GET", "-1")
	if err != nil {
		return []string{err.Error()}
	}
	var commands []command
	entries := list(reply)
	for i := len(entries) - 1; i >= 0; i-- {
		if read, ok := readCommand(list(entries[i])); ok {
			commands = append(commands, read)
		}
	}
	var lines []string
	for rest := commands; len(rest) > 0; {
		run, senders := 1, map[string]bool{rest[0].client: true}
		for run < len(rest) && rest[run].words == rest[0].words {
			senders[rest[run].client] = true
			run++
		}
		lines = append(lines, commandRun(rest[:run], len(senders))...)
		rest = rest[run:]
	}
	return lines
}

// runAbbreviated is from how many lines on a run is one.
const runAbbreviated = 3

func commandRun(run []command, clients int) []string {
	switch {
	case len(run) < runAbbreviated:
		var lines []string
		for _, each := range run {
			lines = append(lines, each.client+": "+each.words)
		}
		return lines
	case clients == 1:
		return []string{fmt.Sprintf("%s: %s (%d times)", run[0].client, run[0].words, len(run))}
	}
	return []string{fmt.Sprintf("%s (%d times, %d clients)", run[0].words, len(run), clients)}
}

// steering begins the commands by which tests and fixtures steer the server.
var steering = []string{
	"CLOCK.", "AWAIT.", "CONTROL.", "FAULT.", "LOCK.HISTORY", "LOCK.VERIFY", "LOCK.OBSERVE", "SLOWLOG", "CLIENT LIST",
}

// command is an entry of the slow log.
type command struct{ client, words string }

// readCommand reads an entry; not one by which a test steers the server.
func readCommand(entry []any) (command, bool) {
	if len(entry) < 6 {
		return command{}, false
	}
	words := line(list(entry[3]))
	for _, prefix := range steering {
		if strings.HasPrefix(strings.ToUpper(words), prefix) {
			return command{}, false
		}
	}
	client := text(entry[5])
	if client == "" {
		client = text(entry[4])
	}
	return command{client, words}, true
}

// faultLines are the rules that have acted.
func (s *Server) faultLines() []string {
	rules, err := try[[]Rule](s.steer, "FAULT.LIST")
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, rule := range rules {
		if rule.Hits > 0 {
			lines = append(lines, fmt.Sprintf("%s (%s): hits=%d held=%d", rule.Name, rule.Rule, rule.Hits, rule.Held))
		}
	}
	return lines
}
