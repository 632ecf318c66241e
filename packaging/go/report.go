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
	fmt.Fprintf(&text, "lockwheel on %s, seed %d\n", s.Addr(), s.seed)
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

// commandLines are the last commands, the newest last, without those that steer the server.
func (s *Server) commandLines() []string {
	reply, err := s.steering.do("SLOWLOG", "GET", "-1")
	if err != nil {
		return []string{err.Error()}
	}
	entries, _ := reply.([]any)
	var lines []string
	for i := len(entries) - 1; i >= 0; i-- {
		entry, _ := entries[i].([]any)
		if len(entry) < 6 {
			continue
		}
		if line := commandLine(entry); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// steering begins the commands by which tests and fixtures steer the server.
var steering = []string{
	"CLOCK.", "AWAIT.", "CONTROL.", "FAULT.", "LOCK.HISTORY", "LOCK.VERIFY", "LOCK.OBSERVE", "SLOWLOG", "CLIENT LIST",
}

func commandLine(entry []any) string {
	arguments, _ := entry[3].([]any)
	var words []string
	for _, argument := range arguments {
		words = append(words, fmt.Sprint(argument))
	}
	line := strings.Join(words, " ")
	for _, prefix := range steering {
		if strings.HasPrefix(strings.ToUpper(line), prefix) {
			return ""
		}
	}
	if name, _ := entry[5].(string); name != "" {
		return name + ": " + line
	}
	return fmt.Sprint(entry[4]) + ": " + line
}

// faultLines are the rules that have acted.
func (s *Server) faultLines() []string {
	reply, err := s.steering.do("FAULT.LIST")
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, entry := range list(reply) {
		if rule := fields(entry); integer(rule["hits"]) > 0 {
			lines = append(lines, fmt.Sprintf("%v (%v): hits=%v held=%v", rule["name"], rule["rule"], rule["hits"], rule["held"]))
		}
	}
	return lines
}

func (s *Server) findingLines() []string {
	verdict, err := s.verify(Suspect, "")
	if err != nil {
		return []string{err.Error()}
	}
	if len(verdict.Findings) == 0 {
		return []string{verdict.Verdict}
	}
	return strings.Split(FindingsError(verdict.Findings).Error(), "\n")
}

// entriesShown is how many entries of the history a report shows, the last ones.
const entriesShown = 100

func (s *Server) historyLines() []string {
	all, err := s.steering.do("LOCK.HISTORY", "COUNT", 0)
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	earlier := max(0, integer(fields(all)["last"])-entriesShown)
	if earlier > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier entries)", earlier))
	}
	reply, err := s.steering.do("LOCK.HISTORY", "SINCE", earlier)
	if err != nil {
		return []string{err.Error()}
	}
	for _, entry := range list(fields(reply)["entries"]) {
		lines = append(lines, entryLine(entry))
	}
	return lines
}

// entryLine is an entry with all that is known of it.
func entryLine(entry any) string {
	told := fields(entry)
	line := fmt.Sprintf("%v %v ms %v", told["seq"], told["monotonic"], told["event"])
	if key := text(told["key"]); key != "" {
		line += " " + key
	}
	said := map[any]bool{"seq": true, "wall": true, "monotonic": true, "event": true, "key": true}
	said["waited"] = told["waited"] == int64(0)
	for pairs := list(entry); len(pairs) > 1; pairs = pairs[2:] {
		if !said[pairs[0]] && pairs[1] != nil && pairs[1] != "" {
			line += fmt.Sprintf(" %v=%v", pairs[0], pairs[1])
		}
	}
	return line
}
