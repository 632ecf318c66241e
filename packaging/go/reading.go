package lockwheel

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What a reply is, or its zero value where it is something else.

func integer(reply any) int64 {
	number, _ := reply.(int64)
	return number
}

func text(reply any) string {
	read, _ := reply.(string)
	return read
}

func list(reply any) []any {
	elements, _ := reply.([]any)
	return elements
}

func instant(reply any) time.Time { return time.UnixMilli(integer(reply)) }

func milliseconds(reply any) time.Duration { return time.Duration(integer(reply)) * time.Millisecond }

// maybe reads what may be null.
func maybe[T any](reply any, read func(any) T) *T {
	if reply == nil {
		return nil
	}
	value := read(reply)
	return &value
}

// inMilliseconds are the words of a request that may have durations and instants, which are whole milliseconds.
func inMilliseconds(arguments []any) ([]any, error) {
	sent := make([]any, len(arguments))
	for n, argument := range arguments {
		switch value := argument.(type) {
		case time.Duration:
			if value%time.Millisecond != 0 {
				return nil, fmt.Errorf("a duration is a whole number of milliseconds, not %v", value)
			}
			sent[n] = value.Milliseconds()
		case time.Time:
			// Beyond 64 bits of milliseconds it would be another.
			if !time.UnixMilli(value.UnixMilli()).Equal(value) {
				return nil, fmt.Errorf("an instant is a whole number of milliseconds, not %v", value)
			}
			sent[n] = value.UnixMilli()
		default:
			sent[n] = argument
		}
	}
	return sent, nil
}

// line is a request as it is told to readers.
func line(arguments []any) string { return strings.TrimSuffix(fmt.Sprintln(arguments...), "\n") }

func itoa(number int64) string { return strconv.FormatInt(number, 10) }
