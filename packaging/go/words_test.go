package lockwheel

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnUnknownLevelIsRefusedWithTheNearest(t *testing.T) {
	_, err := Start(Options{Verify: "suspekt"})
	wanted := `Options.Verify is one of Off, Violation, Suspect, Lint, not "suspekt"; did you mean Suspect?`
	if err == nil || err.Error() != wanted {
		t.Fatal(err)
	}
	if err := Level("Violation").check("level"); err != nil {
		t.Error(err)
	}
	if err := Level("everything").check("level"); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Error(err)
	}
}

func TestAProgramThatIsNotThereIsNamed(t *testing.T) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(variable, "no/such/program")
	_, err = Start(Options{})
	for _, wanted := range []string{`LOCKWHEEL_BINARY is "no/such/program": `, filepath.Join(folder, "no/such/program")} {
		if err == nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%q is not in %v", wanted, err)
		}
	}
	_, err = Start(Options{Binary: folder})
	if err == nil || !strings.HasPrefix(err.Error(), folder+" does not start: ") {
		t.Error(err)
	}
}

func TestEditsAreCounted(t *testing.T) {
	for _, one := range []struct {
		word, other string
		wanted      int
	}{
		{"", "", 0}, {"", "in", 2}, {"lint", "lint", 0}, {"lnt", "lint", 1}, {"suspekt", "suspect", 1}, {"off", "on", 2},
	} {
		if got := edits(one.word, one.other); got != one.wanted || edits(one.other, one.word) != got {
			t.Errorf("%+v: %d", one, got)
		}
	}
}

func TestAStartErrorHasTheCauseAndTheEnd(t *testing.T) {
	_, err := Start(Options{Topology: "sentinels 3"})
	if err == nil || !strings.HasPrefix(err.Error(), "the server has ended with exit status 1: There is no ") {
		t.Fatal(err)
	}
	log := &serverLog{}
	for _, line := range strings.Fields("0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j") {
		log.add(line)
	}
	if said := log.said(); said != "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\na\nb\nc\nd\ne\nf\ng\nh\ni\nj" {
		t.Error(said)
	}
	log.add("k")
	log.add("l")
	if said := log.said(); said != "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n…\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl" {
		t.Error(said)
	}
}
