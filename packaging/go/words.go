package lockwheel

import (
	"fmt"
	"strings"
)

// word is one of those that a string may be, with the name of its constant.
type word struct{ name, value string }

// checkWord refuses a string that is none of the words, and names the nearest.
func checkWord(what, given string, words ...word) error {
	var names []string
	nearest, distance := "", 3
	for _, each := range words {
		if strings.EqualFold(each.value, given) {
			return nil
		}
		names = append(names, each.name)
		for _, known := range []string{each.value, each.name} {
			if edits := edits(strings.ToLower(given), strings.ToLower(known)); edits < distance && edits < len(given) {
				nearest, distance = each.name, edits
			}
		}
	}
	text := fmt.Sprintf("%s is one of %s, not %q", what, strings.Join(names, ", "), given)
	if nearest != "" {
		text += fmt.Sprintf("; did you mean %s?", nearest)
	}
	return fmt.Errorf("%s", text)
}

// edits is how many letters have to be inserted, deleted or replaced to make one word of the other.
func edits(one, other string) int {
	row := make([]int, len(other)+1)
	for n := range row {
		row[n] = n
	}
	for i := 0; i < len(one); i++ {
		before := row[0]
		row[0] = i + 1
		for n := 0; n < len(other); n++ {
			replaced := before
			if one[i] != other[n] {
				replaced++
			}
			before = row[n+1]
			row[n+1] = min(replaced, before+1, row[n]+1)
		}
	}
	return row[len(other)]
}
