package lockwheel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The parts of a report that tell what happened to locks.

// entriesShown is how many entries of the history a report shows, the last ones.
const entriesShown = 100

func (s *Server) findingLines() []string {
	verdict, err := try[Verdict](s.steer, "LOCK.VERIFY", VerifyOptions{Level: Suspect})
	if err != nil {
		return []string{err.Error()}
	}
	lines := verdict.lines()
	entries, _, err := s.lastEntries()
	if note := watchdogNote(entries); err == nil && note != "" {
		lines = append(lines, note)
	}
	return lines
}

// lastEntries are the entries that a report shows, and how many came before.
func (s *Server) lastEntries() ([]any, int64, error) {
	all, err := s.steering.do("LOCK.HISTORY", "COUNT", 0)
	if err != nil {
		return nil, 0, err
	}
	earlier := max(0, integer(fields(all)["last"])-entriesShown)
	reply, err := s.steering.do("LOCK.HISTORY", "SINCE", earlier)
	return list(fields(reply)["entries"]), earlier, err
}

// ofRedisson is how Redisson names the owner of a lock.
var ofRedisson = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+(:write)?$`)

// watchdogNote says which of Redisson's locks expired after an advance of the clock: their watchdog may have been late.
func watchdogNote(entries []any) string {
	turned := false
	var lost []string
	for _, entry := range entries {
		told := fields(entry)
		turned = turned || told["event"] == "clock"
		key := text(told["key"])
		if turned && told["event"] == "lost" && told["cause"] == "expired" && told["kind"] == "foreign" &&
			ofRedisson.MatchString(text(told["owner"])) && !slices.Contains(lost, key) {
			lost = append(lost, key)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	keys := lost[0] + " was"
	if len(lost) > 1 {
		keys = fmt.Sprintf("%s and %d more were", lost[0], len(lost)-1)
	}
	return "note: " + keys + " lost by expiry after the clock was turned. Redisson's watchdog renews a lock in real " +
		"time, which the clock does not turn: without a lease time of its own a lock needs a small " +
		`lockWatchdogTimeout, turns shorter than that, and Await.Event("renewed") after each`
}

func (s *Server) historyLines() []string {
	entries, earlier, err := s.lastEntries()
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	if earlier > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier entries)", earlier))
	}
	for rest := entries; len(rest) > 0; {
		run := connectionRun(rest)
		if run >= runAbbreviated {
			lines = append(lines, runLine(rest[:run]))
		} else {
			run = 1
			lines = append(lines, entryLine(rest[0]))
		}
		rest = rest[run:]
	}
	return lines
}

// connectionRun is how many entries at the beginning tell that clients of one server came, or that they went.
func connectionRun(entries []any) int {
	first := fields(entries[0])
	if event := first["event"]; event != "connect" && event != "disconnect" {
		return 1
	}
	run := 1
	for run < len(entries) {
		next := fields(entries[run])
		if next["event"] != first["event"] || next["node"] != first["node"] {
			break
		}
		run++
	}
	return run
}

// runLine is a run of clients that came, or went.
func runLine(entries []any) string {
	first, last := fields(entries[0]), fields(entries[len(entries)-1])
	clients := make([]int64, 0, len(entries))
	name := first["clientname"]
	for _, entry := range entries {
		told := fields(entry)
		clients = append(clients, integer(told["client"]))
		if told["clientname"] != name {
			name = nil
		}
	}
	numbers := ranges(integer(first["seq"]), integer(last["seq"]))
	times := ranges(integer(first["monotonic"]), integer(last["monotonic"]))
	line := fmt.Sprintf("%s %s ms %v x%d client=%s", numbers, times, first["event"], len(entries), rangesOf(clients))
	for _, pair := range [][2]any{{"clientname", name}, {"node", first["node"]}} {
		if pair[1] != nil && pair[1] != "" {
			line += fmt.Sprintf(" %v=%v", pair[0], pair[1])
		}
	}
	return line
}

func ranges(first, last int64) string {
	if first == last {
		return itoa(first)
	}
	return itoa(first) + "-" + itoa(last)
}

// rangesOf joins numbers that follow one another.
func rangesOf(numbers []int64) string {
	var parts []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		parts = append(parts, ranges(numbers[i], numbers[end]))
		i = end + 1
	}
	return strings.Join(parts, ",")
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
