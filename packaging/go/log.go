package lockwheel

import (
	"bufio"
	"io"
	"regexp"
	"strings"
	"sync"
)

// kept is how many lines of the server's log a report shows, and the error of a server that does not start: that has
// half of them from the beginning.
const kept = 20

// readyLine says for which clients the server listens, and on which port; for plain ones first.
var readyLine = regexp.MustCompile(`Ready to accept connections (tcp|tls), port=(\d+)`)

// socketLine is what a server says of a unix socket, behind what it says of its port.
var socketLine = regexp.MustCompile(`The server is now ready to accept connections at (.+)`)

// memberLine is what a topology says of each of its servers, before it is ready.
var memberLine = regexp.MustCompile(`^(master|replica|sentinel) \[?(\S+?)\]?:(\d+)$`)

// serverLog reads what the server prints and keeps the last lines of it.
type serverLog struct {
	mutex sync.Mutex
	first []string
	last  []string
	count int
	found []Member
}

// read takes lines until the server ends. Where it listens goes to listens when the server says so; listens is closed at
// the end. A server that is not over TLS has no port when it names a unix socket first.
func (l *serverLog) read(output io.Reader, isOverTLS bool, listens chan<- ready) {
	defer close(listens)
	told := false
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		l.add(line)
		l.find(line)
		if found := readyLine.FindStringSubmatch(line); found != nil && !told {
			told = true
			listens <- ready{port: found[2], tls: found[1] == "tls"}
		}
		if found := socketLine.FindStringSubmatch(line); found != nil && !told && !isOverTLS {
			told = true
			listens <- ready{socket: found[1]}
		}
	}
	// A pipe that nobody empties would stop the server, also behind a line that is too long.
	io.Copy(io.Discard, output)
}

func (l *serverLog) add(line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.count++
	if len(l.first) < kept/2 {
		l.first = append(l.first, line)
	}
	if len(l.last) == kept {
		l.last = l.last[1:]
	}
	l.last = append(l.last, line)
}

// find keeps what a line says of a server of a topology.
func (l *serverLog) find(line string) {
	if member := memberLine.FindStringSubmatch(line); member != nil {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.found = append(l.found, Member{Role: member[1], Host: hostOf(member[2]), Port: member[3]})
	}
}

// servers are those of a topology.
func (l *serverLog) servers() []Member {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]Member(nil), l.found...)
}

func (l *serverLog) lines() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]string(nil), l.last...)
}

// said is what a server that has ended has printed: the first lines, which may be the cause, and the last.
func (l *serverLog) said() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	lines := l.last
	if l.count > kept {
		lines = append(append(l.first[:len(l.first):len(l.first)], "…"), l.last[kept/2:]...)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
