package lockwheel

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// read reads a reply as a value of a type. What the reply does not have is zero, or nil.
func read[T any](reply any) T {
	var value T
	decode(reflect.ValueOf(&value).Elem(), reply, "")
	return value
}

// readOr reads a reply, unless there is an error.
func readOr[T any](reply any, err error) (T, error) {
	if err != nil {
		return *new(T), err
	}
	return read[T](reply), nil
}

var (
	typeOfTime     = reflect.TypeOf(time.Time{})
	typeOfDuration = reflect.TypeOf(time.Duration(0))
)

// decode reads a reply into a value; `left` as the note of a duration is the form of PTTL, which is negative without an end.
func decode(into reflect.Value, reply any, note string) {
	if reply == nil || note == "left" && integer(reply) < 0 {
		return
	}
	switch {
	case into.Type() == typeOfTime:
		into.Set(reflect.ValueOf(time.UnixMilli(integer(reply))))
		return
	case into.Type() == typeOfDuration:
		into.SetInt(integer(reply) * int64(time.Millisecond))
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		decode(into.Elem(), reply, note)
	case reflect.Int64:
		into.SetInt(integer(reply))
	case reflect.Float64:
		number, _ := strconv.ParseFloat(shown(reply), 64)
		into.SetFloat(number)
	case reflect.Bool:
		into.SetBool(integer(reply) != 0)
	case reflect.String:
		into.SetString(shown(reply))
	case reflect.Slice:
		elements := list(reply)
		into.Set(reflect.MakeSlice(into.Type(), len(elements), len(elements)))
		for n, element := range elements {
			decode(into.Index(n), element, "")
		}
	case reflect.Map:
		into.Set(reflect.MakeMap(into.Type()))
		for name, value := range fields(reply) {
			element := reflect.New(into.Type().Elem()).Elem()
			decode(element, value, "")
			into.SetMapIndex(reflect.ValueOf(name), element)
		}
	case reflect.Struct:
		decodeFields(into, reply)
	}
}

// decodeFields reads the fields of a reply: the tag of each has its name, or its position.
func decodeFields(into reflect.Value, reply any) {
	told, elements := fields(reply), list(reply)
	for n := 0; n < into.NumField(); n++ {
		name, note, _ := strings.Cut(into.Type().Field(n).Tag.Get("reply"), ",")
		if position, err := strconv.Atoi(name); err == nil {
			if position < len(elements) {
				decode(into.Field(n), elements[position], note)
			}
			continue
		}
		decode(into.Field(n), told[name], note)
	}
}

// What a reply is, or its zero value where it is something else.

func integer(reply any) int64 {
	if written, is := reply.(string); is {
		number, _ := strconv.ParseInt(written, 10, 64)
		return number
	}
	number, _ := reply.(int64)
	return number
}

func text(reply any) string {
	read, _ := reply.(string)
	return read
}

// shown is a text, or a number as one.
func shown(reply any) string {
	if number, is := reply.(int64); is {
		return itoa(number)
	}
	return text(reply)
}

func list(reply any) []any {
	elements, _ := reply.([]any)
	return elements
}
