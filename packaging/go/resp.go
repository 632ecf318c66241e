package lockwheel

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Error is what the server answers to a request that it refuses.
type Error string

func (e Error) Error() string { return string(e) }

// isRefusal is whether an error is the server's answer: its connection goes on.
func isRefusal(err error) bool {
	var refused Error
	return errors.As(err, &refused)
}

// encode writes a request as an array of strings.
func encode(arguments []any) []byte {
	request := []byte("*" + strconv.Itoa(len(arguments)) + "\r\n")
	for _, argument := range arguments {
		var text string
		switch value := argument.(type) {
		case string:
			text = value
		case []byte:
			text = string(value)
		default:
			text = fmt.Sprint(value)
		}
		request = append(request, "$"+strconv.Itoa(len(text))+"\r\n"+text+"\r\n"...)
	}
	return request
}

// readReply reads one RESP2 reply. An error within an array is an element of it.
func readReply(reader *bufio.Reader) (any, error) {
	line, err := reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, fmt.Errorf("no reply: %q", line)
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return nil, Error(text)
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '$':
		return readBulk(reader, text)
	case '*':
		return readArray(reader, text)
	}
	return nil, fmt.Errorf("no reply: %q", line)
}

func readBulk(reader *bufio.Reader, length string) (any, error) {
	size, err := strconv.Atoi(length)
	if err != nil || size < 0 {
		return nil, err
	}
	bytes := make([]byte, size+2)
	if _, err := io.ReadFull(reader, bytes); err != nil {
		return nil, err
	}
	return string(bytes[:size]), nil
}

func readArray(reader *bufio.Reader, length string) (any, error) {
	size, err := strconv.Atoi(length)
	if err != nil || size < 0 {
		return nil, err
	}
	elements := make([]any, 0, size)
	for len(elements) < size {
		element, err := readReply(reader)
		switch {
		case isRefusal(err):
			element = err
		case err != nil:
			return nil, err
		}
		elements = append(elements, element)
	}
	return elements, nil
}

// fields reads a reply of names and values in turn as a map.
func fields(reply any) map[string]any {
	elements, _ := reply.([]any)
	read := make(map[string]any, len(elements)/2)
	for i := 0; i+1 < len(elements); i += 2 {
		if key, ok := elements[i].(string); ok {
			read[key] = elements[i+1]
		}
	}
	return read
}
