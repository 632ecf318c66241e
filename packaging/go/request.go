package lockwheel

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Forever is the Block of a wait without an end.
const Forever time.Duration = -1

// The states of a key for [Await.Key]; others are the types, as TYPE names them.
const (
	KeyExists = "EXISTS"
	KeyGone   = "GONE"
)

// StartTime is the time at which the clock of a server starts: "real", "manual", or an instant, by [StartAt].
type StartTime string

// StartAt is an instant, at which the clock then stands.
func StartAt(instant time.Time) StartTime {
	return StartTime(instant.UTC().Format("2006-01-02T15:04:05.999Z"))
}

// Ptr returns a pointer to a value, for the options for which zero has a meaning: Threads: lockwheel.Ptr(0).
func Ptr[T any](value T) *T { return &value }

// Action is what a rule does. Durations are of the monotonic clock, in whole milliseconds.
type Action struct{ words []any }

// Clients are some clients.
type Clients struct {
	words []any
	rule  []any // nil: a rule cannot name them
}

// Argument is a condition on an argument of a request: its place, from 1, and its value.
type Argument struct {
	Index int
	Value any
}

// wholeSeconds is a duration that the server expects in seconds.
type wholeSeconds time.Duration

// keyState is the state of a key, as AWAIT.KEY takes it.
type keyState string

// option is a word and its value. A zero value is left out, and so is a word that is empty.
type option struct {
	word  string
	value any
}

// orElse is an argument, or a word in the place of its zero value.
func orElse(value time.Duration, otherwise any) any {
	if value == 0 {
		return otherwise
	}
	return value
}

// Exempt sets whether rules ignore the requests of [Server.Command] and of locks. By default they do.
func (f *Faults) Exempt(isExempt bool) { f.server.commands.setExempt(isExempt) }

// ask steers the server by what only fails when the server does, or the test is wrong.
func ask[T any](s *Server, parts ...any) T {
	s.test.Helper()
	value, err := try[T](s.steer, parts...)
	if err != nil {
		s.fail("%v", err)
	}
	return value
}

// do steers the server by a request whose reply says no more than that it is done.
func (s *Server) do(parts ...any) {
	s.test.Helper()
	ask[any](s, parts...)
}

// doAvoiding asks another server than this one, which may hang in a script, if another lives.
func (s *Server) doAvoiding(server int, parts ...any) {
	s.test.Helper()
	other := s.beside(server)
	defer other.close()
	if _, err := try[any](other.do, parts...); err != nil {
		s.fail("%v", s.reason(err))
	}
	s.commands.leave(server)
}

// until asks for a wait, on a connection of its own, so that other goroutines go on meanwhile.
func (s *Server) until(parts ...any) int64 {
	s.test.Helper()
	waiting := s.waits.take()
	defer s.waits.give(waiting)
	reply, err := try[*int64](waiting.wait, parts...)
	if err == nil && reply == nil {
		words, _ := request(parts...)
		err = fmt.Errorf("%s: not within the limit", line(words))
	}
	if err != nil {
		s.fail("%v", s.reason(err))
	}
	return *reply
}

// own asks on the connection of [Server.Command] for what has no result.
func (s *Server) own(parts ...any) error {
	_, err := try[any](s.command, parts...)
	return err
}

// try sends a request and reads its reply.
func try[T any](send func(...any) (any, error), parts ...any) (T, error) {
	var value T
	words, err := request(parts...)
	if err != nil {
		return value, fmt.Errorf("%v: %w", parts[0], err)
	}
	reply, err := send(words...)
	if err == nil {
		err = read(reply, reflect.ValueOf(&value).Elem())
	}
	if err != nil {
		return value, fmt.Errorf("%s: %w", line(words), err)
	}
	return value, nil
}

// request makes the words of a request of arguments, options, actions and clients.
func request(parts ...any) ([]any, error) {
	var words []any
	for _, part := range parts {
		found, err := wordsOf(part)
		if err != nil {
			return nil, err
		}
		words = append(words, found...)
	}
	return words, nil
}

func wordsOf(part any) ([]any, error) {
	switch value := part.(type) {
	case time.Duration:
		if value%time.Millisecond != 0 {
			return nil, fmt.Errorf("a duration is a whole number of milliseconds, not %v", value)
		}
		return []any{value.Milliseconds()}, nil
	case wholeSeconds:
		if time.Duration(value)%time.Second != 0 {
			return nil, fmt.Errorf("this duration is a whole number of seconds, not %v", time.Duration(value))
		}
		return []any{int64(time.Duration(value) / time.Second)}, nil
	case time.Time:
		// Beyond 64 bits of milliseconds it would be another.
		if !time.UnixMilli(value.UnixMilli()).Equal(value) {
			return nil, fmt.Errorf("an instant is a whole number of milliseconds, not %v", value)
		}
		return []any{value.UnixMilli()}, nil
	case keyState:
		if state := string(value); strings.EqualFold(state, KeyExists) || strings.EqualFold(state, KeyGone) {
			return []any{state}, nil
		}
		return []any{"TYPE", string(value)}, nil
	case Argument:
		return []any{value.Index, value.Value}, nil
	case Action:
		return request(value.words...)
	case Clients:
		return value.words, nil
	case option:
		return optionWords(value)
	case []int:
		return []any{strings.Trim(strings.ReplaceAll(fmt.Sprint(value), " ", ","), "[]")}, nil
	}
	switch value := reflect.ValueOf(part); value.Kind() {
	case reflect.Pointer:
		return wordsOf(value.Elem().Interface())
	case reflect.Bool:
		return []any{map[bool]string{true: "yes", false: "no"}[value.Bool()]}, nil
	case reflect.String:
		return []any{value.String()}, nil
	case reflect.Slice:
		parts := make([]any, value.Len())
		for n := range parts {
			parts[n] = value.Index(n).Interface()
		}
		return request(parts...)
	case reflect.Struct:
		return optionsWords(value)
	}
	return []any{part}, nil
}

// optionsWords are the words of a struct of options: each field has its word as a tag.
func optionsWords(options reflect.Value) ([]any, error) {
	var words []any
	for n := 0; n < options.NumField(); n++ {
		field := options.Type().Field(n)
		word, isOption := field.Tag.Lookup("word")
		if !isOption {
			continue
		}
		found, err := optionWords(option{word, options.Field(n).Interface()})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.Name, err)
		}
		words = append(words, found...)
	}
	return words, nil
}

func optionWords(given option) ([]any, error) {
	if reflect.ValueOf(given.value).IsZero() {
		return nil, nil
	}
	parts := []any{given.word, given.value}
	switch value := given.value.(type) {
	case bool:
		parts = parts[:1]
	case Clients:
		if value.rule == nil {
			return nil, errors.New("a rule names clients by id, name or library")
		}
		parts[1] = value.rule
	case time.Duration:
		if value == Forever && given.word == "BLOCK" {
			parts[1] = time.Duration(0)
		}
	}
	if given.word == "" {
		parts = parts[1:]
	}
	return request(parts...)
}
