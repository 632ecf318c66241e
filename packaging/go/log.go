package lockwheel

import (
	"bufio"
	"io"
	"regexp"
	"sync"
)

// kept is how many lines of the server's log a report shows.
const kept = 20

// readyLine says for which clients the server listens, and on which port; for plain ones first.
var readyLine = regexp.MustCompile(`Ready to accept connections (tcp|tls), port=(\d+)`)

// serverLog reads what the server prints and keeps the last lines of it.
type serverLog struct {
	mutex sync.Mutex
	last  []string
}

// read takes lines until the server ends. Where it listens goes to listens when the server says so; listens is closed at
// the end.
func (l *serverLog) read(output io.Reader, listens chan<- ready) {
	defer close(listens)
	told := false
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		l.add(line)
		if found := readyLine.FindStringSubmatch(line); found != nil && !told {
			told = true
			listens <- ready{port: found[2], tls: found[1] == "tls"}
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
