package lockwheel

import (
	"strconv"
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

func itoa(number int64) string { return strconv.FormatInt(number, 10) }
