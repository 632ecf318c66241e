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
	if note := watchdogNote(s.historyLines()); note != "" {
		lines = append(lines, note)
	}
	return lines
}

// lost is the end of a lease of Redisson's, as a line of the history.
var lost = regexp.MustCompile(`^\d+ \d+ ms lost (.+?) db=\d+ kind=foreign .*owner=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-` +
	`[0-9a-f]{12}:\d+(?::write)? .*cause=expired`)

// watchdogNote says which of Redisson's locks expired after an advance of the clock: their watchdog may have been late.
func watchdogNote(entries []string) string {
	turned := false
	var keys []string
	for _, entry := range entries {
		turned = turned || strings.Contains(entry, " ms clock ")
		if found := lost.FindStringSubmatch(entry); turned && found != nil && !slices.Contains(keys, found[1]) {
			keys = append(keys, found[1])
		}
	}
	if len(keys) == 0 {
		return ""
	}
	locks := keys[0] + " was"
	if len(keys) > 1 {
		locks = fmt.Sprintf("%s and %d more were", keys[0], len(keys)-1)
	}
	return "note: " + locks + " lost by expiry after the clock was turned. Redisson's watchdog renews a lock in real " +
		"time, which the clock does not turn: without a lease time of its own a lock needs a small " +
		`lockWatchdogTimeout, turns shorter than that, and Await.Event("renewed") after each`
}

// historyLines are the last entries of the history.
func (s *Server) historyLines() []string {
	all, err := try[Entries](s.steer, "LOCK.HISTORY", "COUNT", 0)
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	earlier := max(0, all.Last-entriesShown)
	if earlier > 0 {
		lines = append(lines, fmt.Sprintf("(%d earlier entries)", earlier))
	}
	shown, err := try[string](s.steer, "LOCK.HISTORY", "SINCE", earlier, "FORMAT", "TEXT")
	if err != nil {
		return []string{err.Error()}
	}
	return append(lines, strings.FieldsFunc(shown, func(letter rune) bool { return letter == '\n' })...)
}
