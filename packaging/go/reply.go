package lockwheel

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// read reads a reply as a value of its type. A reply of another shape is an error.
func read(reply any, into reflect.Value) error {
	switch target := into.Addr().Interface().(type) {
	case *any:
		*target = reply
		return nil
	case *time.Time:
		return readWith(reply, target, func(number int64) time.Time { return time.UnixMilli(number) })
	case *time.Duration:
		return readWith(reply, target, func(number int64) time.Duration { return time.Duration(number) * time.Millisecond })
	case *bool:
		return readWith(reply, target, func(number int64) bool { return number != 0 })
	case *int64:
		return readWith(reply, target, func(number int64) int64 { return number })
	case *float64:
		var err error
		*target, err = strconv.ParseFloat(argumentText(reply), 64)
		return err
	}
	switch into.Kind() {
	case reflect.String:
		return readText(reply, into)
	case reflect.Pointer:
		return readOptional(reply, into)
	case reflect.Slice:
		return readList(reply, into)
	case reflect.Map:
		return readMap(reply, into)
	}
	return readRecord(reply, into)
}

// readWith reads an integer. A cursor is one in a text.
func readWith[T any](reply any, target *T, convert func(int64) T) error {
	if text, ok := reply.(string); ok {
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			reply = number
		}
	}
	number, ok := reply.(int64)
	if !ok {
		return fmt.Errorf("the reply is no integer: %v", reply)
	}
	*target = convert(number)
	return nil
}

// readText reads a text. The number of a client, where a key may stand, becomes one.
func readText(reply any, into reflect.Value) error {
	switch value := reply.(type) {
	case string:
		into.SetString(value)
	case int64:
		into.SetString(itoa(value))
	default:
		return fmt.Errorf("the reply is no text: %v", reply)
	}
	return nil
}

// readOptional reads what may be absent. A negative duration is one without an end, in the form of PTTL.
func readOptional(reply any, into reflect.Value) error {
	if reply == nil {
		return nil
	}
	value := reflect.New(into.Type().Elem())
	if err := read(reply, value.Elem()); err != nil {
		return err
	}
	if left, ok := value.Interface().(*time.Duration); !ok || *left >= 0 {
		into.Set(value)
	}
	return nil
}

// readList reads a list, which is empty if it is absent.
func readList(reply any, into reflect.Value) error {
	elements, ok := reply.([]any)
	if !ok && reply != nil {
		return fmt.Errorf("the reply is no array: %v", reply)
	}
	list := reflect.MakeSlice(into.Type(), len(elements), len(elements))
	for n, element := range elements {
		if err := read(element, list.Index(n)); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

func readMap(reply any, into reflect.Value) error {
	if _, ok := reply.([]any); !ok {
		return fmt.Errorf("the reply is no map: %v", reply)
	}
	into.Set(reflect.MakeMap(into.Type()))
	for name, each := range fields(reply) {
		value := reflect.New(into.Type().Elem()).Elem()
		if err := read(each, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		into.SetMapIndex(reflect.ValueOf(name), value)
	}
	return nil
}

// readRecord reads a struct. A field is found by its name in lower case, or by the name or the position in its tag.
func readRecord(reply any, into reflect.Value) error {
	elements, ok := reply.([]any)
	if !ok {
		return fmt.Errorf("the reply is no map: %v", reply)
	}
	told := fields(reply)
	for n := 0; n < into.NumField(); n++ {
		field := into.Type().Field(n)
		name, more, _ := strings.Cut(field.Tag.Get("reply"), ",")
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		value := told[name]
		if place, err := strconv.Atoi(name); err == nil && place < len(elements) {
			value = elements[place]
		}
		if value == nil && more == "optional" {
			continue
		}
		if err := read(value, into.Field(n)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// The parts of a report read replies by these: what a reply is, or its zero value where it is something else.

func text(reply any) string {
	read, _ := reply.(string)
	return read
}

func list(reply any) []any {
	elements, _ := reply.([]any)
	return elements
}

// line is a request as it is told to readers.
func line(arguments []any) string { return strings.TrimSuffix(fmt.Sprintln(arguments...), "\n") }

func itoa(number int64) string { return strconv.FormatInt(number, 10) }
