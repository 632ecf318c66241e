package lockwheel

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// kept is how many lines of the server's log a report shows.
const kept = 20

// serverLog reads what the server prints and keeps the last lines of it.
type serverLog struct {
	mutex sync.Mutex
	last  []string
}

// read takes lines until the server ends. The port goes to ready when the server says that it listens; ready is closed
// at the end.
func (l *serverLog) read(output io.Reader, ready chan<- string) {
	defer close(ready)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		l.add(line)
		if _, port, found := strings.Cut(line, "port="); found && strings.Contains(line, "Ready to accept connections") {
			ready <- port
		}
	}
}

func (l *serverLog) add(line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.last) == kept {
		l.last = l.last[1:]
	}
	l.last = append(l.last, line)
}

func (l *serverLog) lines() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]string(nil), l.last...)
}
