package lockwheel

import (
	"time"
)

// Await waits for a state instead of sleeping. A test fails, with the server's report, when the limit passes first:
// five seconds of real time, unless [Await.Within] says otherwise. Counts mean at least so many, unless [Await.Exact] or
// [Await.AtMost] says otherwise.
type Await struct {
	server  *Server
	limit   time.Duration
	compare []any
}

// types are those of keys, as TYPE names them.
var types = []string{"string", "list", "hash", "set", "zset", "stream"}

// Within is the same with another limit of real time.
func (a *Await) Within(limit time.Duration) *Await { return &Await{a.server, limit, a.compare} }

// Exact is the same, waiting for just so many.
func (a *Await) Exact() *Await { return &Await{a.server, a.limit, []any{"EXACT"}} }

// AtMost is the same, waiting for no more than so many.
func (a *Await) AtMost() *Await { return &Await{a.server, a.limit, []any{"ATMOST"}} }

// Blocked waits until so many clients are blocked.
func (a *Await) Blocked(count int) {
	a.server.test.Helper()
	a.count("AWAIT.BLOCKED", count)
}

// BlockedOn waits until so many clients are blocked on a key.
func (a *Await) BlockedOn(key string, count int) {
	a.server.test.Helper()
	a.count("AWAIT.BLOCKED", count, "KEY", key)
}

// Waiters waits until so many clients wait for a lock, in the server or subscribed to its Redisson channels.
func (a *Await) Waiters(key string, count int) {
	a.server.test.Helper()
	a.count("AWAIT.WAITERS", key, count)
}

// Subscribers waits until a channel has so many.
func (a *Await) Subscribers(channel string, count int) {
	a.server.test.Helper()
	a.count("AWAIT.SUBSCRIBERS", channel, count)
}

// Clients waits until so many are connected, the package's own connections among them.
func (a *Await) Clients(count int) {
	a.server.test.Helper()
	a.count("AWAIT.CLIENTS", count)
}

// ClientsNamed waits until so many are connected that have a name like this.
func (a *Await) ClientsNamed(pattern string, count int) {
	a.server.test.Helper()
	a.count("AWAIT.CLIENTS", count, "NAME", pattern)
}

// Exists waits until there is a key.
func (a *Await) Exists(key string) {
	a.server.test.Helper()
	a.until("AWAIT.KEY", key, "EXISTS")
}

// Gone waits until there is no such key.
func (a *Await) Gone(key string) {
	a.server.test.Helper()
	a.until("AWAIT.KEY", key, "GONE")
}

// Type waits until a key has this type, as TYPE names it.
func (a *Await) Type(key, kind string) {
	a.server.test.Helper()
	known := make([]word, 0, len(types))
	for _, name := range types {
		known = append(known, word{name, name})
	}
	if err := checkWord("the type", kind, known...); err != nil {
		a.server.fail("AWAIT.KEY %s: %v", key, err)
	}
	a.until("AWAIT.KEY", key, "TYPE", kind)
}

// Calls waits until a command was executed so often.
func (a *Await) Calls(command string, count int) {
	a.server.test.Helper()
	a.until("AWAIT.CALLS", command, count)
}

// CallsOn waits until a command was executed so often on keys like this.
func (a *Await) CallsOn(pattern, command string, count int) {
	a.server.test.Helper()
	a.until("AWAIT.CALLS", command, count, "KEY", pattern)
}

// Idle waits until no client has sent a command for so long, in real time.
func (a *Await) Idle(quiet time.Duration) {
	a.server.test.Helper()
	a.until("AWAIT.IDLE", quiet)
}

// IdleNamed waits until no client that has a name like this has sent a command for so long, in real time.
func (a *Await) IdleNamed(pattern string, quiet time.Duration) {
	a.server.test.Helper()
	a.until("AWAIT.IDLE", quiet, "NAME", pattern)
}

// Event waits until the history has this event. It answers the number of its entry.
func (a *Await) Event(event string, filters ...Filter) int64 {
	a.server.test.Helper()
	arguments := []any{"AWAIT.EVENT", event}
	for _, filter := range filters {
		arguments = append(arguments, filter...)
	}
	return a.until(arguments...)
}

// Fault waits until a rule has acted so often.
func (a *Await) Fault(name string, count int) {
	a.server.test.Helper()
	a.until("AWAIT.FAULT", name, count)
}

// Held waits until a rule holds so many requests or replies.
func (a *Await) Held(name string, count int) {
	a.server.test.Helper()
	a.until("AWAIT.HELD", name, count)
}

func (a *Await) count(arguments ...any) {
	a.server.test.Helper()
	a.until(append(arguments, a.compare...)...)
}

func (a *Await) until(arguments ...any) int64 {
	a.server.test.Helper()
	if a.limit != 0 {
		arguments = append(arguments, "LIMIT", a.limit)
	}
	// On a connection of its own, so that other goroutines go on meanwhile.
	waiting := a.server.waits.take()
	defer a.server.waits.give(waiting)
	reply := a.server.mustBy(waiting.wait, arguments)
	if reply == nil {
		a.server.fail("%s: not within the limit", line(arguments))
	}
	return integer(reply)
}
