package lockwheel

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// Error is what the server answers to a request that it refuses.
type Error string

func (e Error) Error() string { return string(e) }

// connection speaks RESP2 with the server, one request after the other. It may be used by several goroutines.
type connection struct {
	access *access
	mutex  sync.Mutex
	socket net.Conn
	reader *bufio.Reader
	// Whether rules for faults leave out what it sends.
	isExempt bool
}

func newConnection(access *access) *connection { return &connection{access: access, isExempt: true} }

// setExempt says whether rules for faults leave out what it sends from now on.
func (c *connection) setExempt(isExempt bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.isExempt != isExempt {
		c.isExempt = isExempt
		c.drop()
	}
}

// do sends a request and reads its reply: nil, int64, string or []any. What the server refuses is an [Error].
func (c *connection) do(arguments ...any) (any, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.open(); err != nil {
		return nil, err
	}
	return c.exchange(arguments)
}

// open connects and logs in, unless that is done and the server has not cut the connection since.
func (c *connection) open() error {
	if c.socket != nil && c.reader.Buffered() == 0 && !isCut(c.socket) {
		return nil
	}
	c.drop()
	socket, err := c.access.dial()
	if err != nil {
		return err
	}
	c.socket, c.reader = socket, bufio.NewReader(socket)
	if c.access.password != "" {
		if _, err = c.exchange([]any{"AUTH", c.access.password}); err != nil {
			c.drop()
			return err
		}
	}
	if c.isExempt {
		// A server that cannot be steered refuses it, and has no faults either.
		var refused Error
		if _, err = c.exchange([]any{"FAULT.EXEMPT", "ON"}); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

func (c *connection) exchange(arguments []any) (any, error) {
	if _, err := c.socket.Write(encode(arguments)); err != nil {
		c.drop()
		return nil, err
	}
	reply, err := readReply(c.reader)
	var refused Error
	if err != nil && !errors.As(err, &refused) {
		c.drop()
	}
	return reply, err
}

// close ends the connection; the next request opens another.
func (c *connection) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.drop()
}

func (c *connection) drop() {
	if c.socket != nil {
		c.socket.Close()
		c.socket, c.reader = nil, nil
	}
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
		var refused Error
		switch {
		case errors.As(err, &refused):
			element = refused
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
