package lockwheel

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Error is what the server answers to a request that it refuses.
type Error string

func (e Error) Error() string { return string(e) }

// isRefusal is whether an error is the server's answer: its connection goes on.
func isRefusal(err error) bool {
	var refused Error
	return errors.As(err, &refused)
}

// isHanging is whether an error is the answer of a server that refuses nearly all for a while, and has done nothing.
func isHanging(err error) bool {
	if !isRefusal(err) {
		return false
	}
	code, _, _ := strings.Cut(err.Error(), " ")
	return code == "BUSY" || code == "LOADING" || code == "MASTERDOWN"
}

// isShutOut is whether the server lets no more clients in, and has closed the connection.
func isShutOut(err error) bool { return strings.Contains(err.Error(), "max number of clients reached") }

// refuseUnanswered refuses what the server never answers.
func refuseUnanswered(arguments []any) error {
	if len(arguments) == 0 {
		return errors.New("a command has a name: the server never answers an empty request")
	}
	var words []string
	for _, argument := range arguments[:min(3, len(arguments))] {
		words = append(words, strings.ToUpper(argumentText(argument)))
	}
	if shown := strings.Join(words, " "); shown == "CLIENT REPLY OFF" || shown == "CLIENT REPLY SKIP" {
		return fmt.Errorf("%s has no reply, which a command waits for: send it on a connection of the test's own", shown)
	}
	return nil
}

// argumentText is an argument as it is sent.
func argumentText(argument any) string {
	switch value := argument.(type) {
	case string:
		return value
	case []byte:
		return string(value)
	}
	return fmt.Sprint(argument)
}

// encode writes a request as an array of strings.
func encode(arguments []any) []byte {
	request := []byte("*" + strconv.Itoa(len(arguments)) + "\r\n")
	for _, argument := range arguments {
		text := argumentText(argument)
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
