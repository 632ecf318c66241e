package lockwheel

import (
	"errors"
	"fmt"
	"strings"
)

// Level is how much a finding weighs.
type Level string

// The levels; as [Options.Verify], Off lets findings fail no test.
const (
	Off       Level = ""
	Violation Level = "violation"
	Suspect   Level = "suspect"
	Lint      Level = "lint"
)

// check refuses what is no level.
func (l Level) check(what string) error {
	return checkWord(what, string(l), word{"Off", ""}, word{"Violation", "violation"}, word{"Suspect", "suspect"},
		word{"Lint", "lint"})
}

// Verdict is what the server finds in the history.
type Verdict struct {
	Verdict   string // violated, suspect, ok, or inconclusive where nothing was found and the history is not whole
	Events    int64
	Truncated bool
	Findings  []Finding
	Reason    string // why the history is not whole; empty: it is
	LeftOut   int64  // how many findings there are beside these
}

// lines are those of a report: the findings, or that there are none.
func (v Verdict) lines() []string {
	var lines []string
	for _, finding := range v.Findings {
		lines = append(lines, finding.String())
	}
	if len(v.Findings) == 0 {
		lines = append(lines, v.line())
	}
	if v.LeftOut > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", v.LeftOut))
	}
	return lines
}

// line is the verdict with the reason, if there is one.
func (v Verdict) line() string {
	if v.Reason == "" {
		return v.Verdict
	}
	return v.Verdict + ": " + v.Reason
}

// Finding is something wrong in the history.
type Finding struct {
	Level     Level
	Invariant string
	Key       string
	Seqs      []int64 // the entries that show it
	Owners    []string
	Evidence  []string // the same in words
	Text      string
}

func (f Finding) String() string {
	of := ""
	if f.Key != "" {
		of = " of " + f.Key
	}
	return fmt.Sprintf("%s %s%s: %s", f.Level, f.Invariant, of, f.Text)
}

// Verify tells what the server finds wrong in the history: from this level on, or of every level where it is empty; of
// locks with names like the pattern, or of all where it is empty.
func (s *Server) Verify(level Level, pattern string) Verdict {
	s.test.Helper()
	verdict, err := s.verify(level, pattern)
	if err != nil {
		s.fail("LOCK.VERIFY: %v", err)
	}
	return verdict
}

func (s *Server) verify(level Level, pattern string) (Verdict, error) {
	if err := level.check("level"); err != nil {
		return Verdict{}, err
	}
	words := []any{"LOCK.VERIFY"}
	if pattern != "" {
		words = append(words, "KEY", pattern)
	}
	if level != "" {
		words = append(words, "LEVEL", strings.ToUpper(string(level)))
	}
	reply, err := s.steering.do(words...)
	if err != nil {
		return Verdict{}, err
	}
	told := fields(reply)
	verdict := Verdict{
		Verdict: text(told["verdict"]), Events: integer(told["events"]), Truncated: integer(told["truncated"]) != 0,
		Reason: text(told["reason"]), LeftOut: integer(told["left-out"]),
	}
	for _, finding := range list(told["findings"]) {
		verdict.Findings = append(verdict.Findings, readFinding(fields(finding)))
	}
	return verdict, nil
}

func readFinding(told map[string]any) Finding {
	finding := Finding{
		Level:     Level(text(told["level"])),
		Invariant: text(told["invariant"]),
		Key:       text(told["key"]),
		Text:      text(told["text"]),
	}
	for _, seq := range list(told["seqs"]) {
		finding.Seqs = append(finding.Seqs, integer(seq))
	}
	for _, owner := range list(told["owners"]) {
		finding.Owners = append(finding.Owners, text(owner))
	}
	for _, evidence := range list(told["evidence"]) {
		finding.Evidence = append(finding.Evidence, text(evidence))
	}
	return finding
}

// FailOn says from which level on findings fail the test that this server was given to, at its end; for a server of
// [Shared], which has no options. [Off] lets none.
func (s *Server) FailOn(level Level) {
	s.test.Helper()
	if err := level.check("level"); err != nil {
		s.fail("FailOn: %v", err)
	}
	s.level = level
}

// Check tells the findings of the level that the server was started with ([Options.Verify]), or nil. A history that is not
// whole and has none is an error with the reason.
func (s *Server) Check() error {
	if s.level == Off {
		return nil
	}
	verdict, err := s.verify(s.level, "")
	switch {
	case err != nil:
		return err
	case len(verdict.Findings) == 0 && verdict.Verdict == "inconclusive":
		return errors.New(verdict.line())
	case len(verdict.Findings) == 0:
		return nil
	}
	return FindingsError(verdict.Findings)
}

// FindingsError says what is wrong in the history.
type FindingsError []Finding

func (e FindingsError) Error() string {
	lines := make([]string, 0, len(e))
	for _, finding := range e {
		lines = append(lines, finding.String())
	}
	return strings.Join(lines, "\n")
}
