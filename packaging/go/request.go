package lockwheel

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Forever is a wait without an end.
const Forever time.Duration = -1

// Action is what a rule does. Durations are of the monotonic clock, in whole milliseconds.
type Action []any

// Clients are some clients.
type Clients struct {
	words []any
	rule  []any // nil: a rule cannot name them
}

// wholeSeconds is a duration that the server expects in seconds.
type wholeSeconds time.Duration

// keyState is the state of a key, as AWAIT.KEY takes it.
type keyState string

// choice is a string that is one of a few words.
type choice interface{ words() []word }

// optional are the words of an argument that may be left out.
func optional[T any](token string, values []T) []any {
	if len(values) == 0 {
		return nil
	}
	if token == "" {
		return []any{values[0]}
	}
	return []any{token, values[0]}
}

// optionalList are the words of a list that may be left out.
func optionalList[T any](token string, values []T) []any {
	if len(values) == 0 {
		return nil
	}
	return []any{token, values}
}

// option are the words of an argument whose zero value is left out.
func option[T comparable](token string, value T) []any {
	if value == *new(T) {
		return nil
	}
	return optional(token, []T{value})
}

// orElse is an argument, or a word in the place of its zero value.
func orElse[T comparable](value T, otherwise any) any {
	if value == *new(T) {
		return otherwise
	}
	return value
}

// request makes the words of a request of arguments, options, actions and clients.
func request(arguments []any) ([]any, error) {
	var words []any
	var action Action
	for _, argument := range arguments {
		if last, is := argument.(Action); is {
			action = append(Action{"DO"}, last...)
			continue
		}
		found, err := wordsOf(argument)
		if err != nil {
			return nil, err
		}
		words = append(words, found...)
	}
	if action == nil {
		return words, nil
	}
	// The action of a rule stands behind all conditions.
	found, err := request(action)
	return append(words, found...), err
}

// wordsOf are the words of an argument.
func wordsOf(argument any) ([]any, error) {
	switch value := argument.(type) {
	case nil:
		return nil, nil
	case time.Duration:
		if value%time.Millisecond != 0 {
			return nil, fmt.Errorf("a duration is a whole number of milliseconds, not %v", value)
		}
		return []any{value.Milliseconds()}, nil
	case wholeSeconds:
		if rest := time.Duration(value) % time.Second; rest != 0 {
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
		return stateWords(string(value))
	case Clients:
		return value.words, nil
	case []int:
		return []any{strings.Trim(strings.ReplaceAll(fmt.Sprint(value), " ", ","), "[]")}, nil
	case []any:
		return request(value)
	case string, []byte:
		return []any{argument}, nil
	}
	switch value := reflect.ValueOf(argument); value.Kind() {
	case reflect.Slice:
		var words []any
		for n := 0; n < value.Len(); n++ {
			found, err := wordsOf(value.Index(n).Interface())
			if err != nil {
				return nil, err
			}
			words = append(words, found...)
		}
		return words, nil
	case reflect.Struct:
		return optionWords(value)
	case reflect.String:
		return choiceWords("the "+strings.ToLower(value.Type().Name()), argument)
	}
	return []any{argument}, nil
}

func choiceWords(what string, given any) ([]any, error) {
	value := reflect.ValueOf(given).String()
	if known, is := given.(choice); is && value != "" {
		if err := checkWord(what, value, known.words()...); err != nil {
			return nil, err
		}
	}
	if value == "" {
		return nil, nil
	}
	return []any{strings.ToUpper(value)}, nil
}

// stateWords are the words of the state of a key: EXISTS, GONE, or a type, as TYPE names it.
func stateWords(state string) ([]any, error) {
	var known []word
	for _, name := range []string{"EXISTS", "GONE", "string", "list", "hash", "set", "zset", "stream"} {
		known = append(known, word{name, name})
	}
	if err := checkWord("the state", state, known...); err != nil {
		return nil, err
	}
	if upper := strings.ToUpper(state); upper == "EXISTS" || upper == "GONE" {
		return []any{upper}, nil
	}
	return []any{"TYPE", state}, nil
}

// optionWords are the words of options: each field has its word as a tag. A zero value is left out.
func optionWords(options reflect.Value) ([]any, error) {
	var words []any
	for n := 0; n < options.NumField(); n++ {
		field, value := options.Type().Field(n), options.Field(n)
		token := field.Tag.Get("word")
		if value.IsZero() {
			continue
		}
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		if token != "" {
			words = append(words, token)
		}
		var found []any
		var err error
		switch given := value.Interface().(type) {
		case bool:
		case Clients:
			if found = given.rule; found == nil {
				err = errors.New("a rule names clients by id, name or library")
			}
		case time.Duration:
			found, err = wordsOf(max(given, 0))
			if given < 0 && given != Forever {
				err = fmt.Errorf("%s is no negative duration, but %v", field.Name, given)
			}
		default:
			if value.Kind() == reflect.String {
				found, err = optionText(options.Type().Name()+"."+field.Name, given)
			} else {
				found, err = wordsOf(given)
			}
		}
		if err != nil {
			return nil, err
		}
		words = append(words, found...)
	}
	return words, nil
}

func optionText(what string, given any) ([]any, error) {
	if _, is := given.(choice); is {
		return choiceWords(what, given)
	}
	return []any{given}, nil
}

// Argument is a condition on an argument of a request: its place, from 1, and its value.
type Argument struct {
	Index int
	Value any
}

// line is a request as it is told to readers.
func line(arguments []any) string { return strings.TrimSuffix(fmt.Sprintln(arguments...), "\n") }

func itoa(number int64) string { return strconv.FormatInt(number, 10) }
