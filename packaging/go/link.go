package lockwheel

import (
	"bufio"
	"net"
)

// link is an open connection to one server.
type link struct {
	place  int // of the server, among those of its topology
	socket net.Conn
	reader *bufio.Reader
}

// isCut is whether the server has ended it since the last reply.
func (l *link) isCut() bool { return l.reader.Buffered() != 0 || isCut(l.socket) }

// exchange sends a request and reads its reply; after an error that is no refusal nothing more can be asked.
func (l *link) exchange(arguments []any) (any, error) {
	if _, err := l.socket.Write(encode(arguments)); err != nil {
		return nil, err
	}
	return readReply(l.reader)
}

func (l *link) close() { l.socket.Close() }
