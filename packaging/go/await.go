package lockwheel

import (
	"time"
)

// Await waits for a state instead of sleeping. A test fails, with the server's report, when the limit passes first:
// five seconds of real time, unless [Await.Within] says otherwise.
type Await struct {
	server *Server
	limit  time.Duration
}

// Within is the same with another limit of real time.
func (a *Await) Within(limit time.Duration) *Await { return &Await{a.server, limit} }

// Blocked waits until so many clients are blocked.
func (a *Await) Blocked(count int) { a.until("AWAIT.BLOCKED", count) }

// BlockedOn waits until so many clients are blocked on a key.
func (a *Await) BlockedOn(key string, count int) { a.until("AWAIT.BLOCKED", count, "KEY", key) }

// Waiters waits until so many clients wait for a lock, in the server or subscribed to its Redisson channels.
func (a *Await) Waiters(key string, count int) { a.until("AWAIT.WAITERS", key, count) }

// Subscribers waits until a channel has so many.
func (a *Await) Subscribers(channel string, count int) { a.until("AWAIT.SUBSCRIBERS", channel, count) }

// Exists waits until there is a key.
func (a *Await) Exists(key string) { a.until("AWAIT.KEY", key, "EXISTS") }

// Gone waits until there is no such key.
func (a *Await) Gone(key string) { a.until("AWAIT.KEY", key, "GONE") }

// Type waits until a key has this type, as TYPE names it.
func (a *Await) Type(key, kind string) { a.until("AWAIT.KEY", key, "TYPE", kind) }

func (a *Await) until(arguments ...any) {
	if a.limit > 0 {
		arguments = append(arguments, "LIMIT", a.limit.Milliseconds())
	}
	if reply := a.server.must(arguments...); reply != int64(1) {
		a.server.fail("%v: not within the limit", arguments)
	}
}
