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

func (f Finding) String() string {
	of := ""
	if f.Key != "" {
		of = " of " + f.Key
	}
	return fmt.Sprintf("%s %s%s: %s", f.Level, f.Invariant, of, f.Text)
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

// Check tells the findings of a level, or of the one that the server was started with ([Options.Verify]), or nil. A
// history that is not whole and has none is an error with the reason.
func (s *Server) Check(level ...Level) error {
	wanted := s.level
	if len(level) > 0 {
		wanted = level[0]
	}
	if wanted == Off {
		return nil
	}
	verdict, err := try[Verdict](s.steer, "LOCK.VERIFY", VerifyOptions{Level: wanted})
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
	return strings.Join(Verdict{Findings: e}.lines(), "\n")
}
