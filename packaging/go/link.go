package lockwheel

import (
	"bufio"
	"net"
	"time"
)

// link is an open connection to one server.
type link struct {
	place  int // of the server, among those of its topology
	socket net.Conn
	reader *bufio.Reader
	// Whether the last probe was refused, as by a server that runs a script.
	isRefusing bool
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

// probe sends a request that changes nothing: whatever is answered, the server lives. With a limit that is not 0 the
// answer has to come within it; after an error nothing more can be asked.
func (l *link) probe(request []any, limit time.Duration) error {
	if limit != 0 {
		l.socket.SetDeadline(time.Now().Add(limit))
		defer l.socket.SetDeadline(time.Time{})
	}
	_, err := l.exchange(request)
	l.isRefusing = isHanging(err)
	if isRefusal(err) && !isShutOut(err) {
		return nil
	}
	return err
}

func (l *link) close() { l.socket.Close() }
