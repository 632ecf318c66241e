package lockwheel

import (
	"time"
)

// History tells what happened to locks, whoever took them: the package starts its servers with `lock-history yes`.
type History struct{ server *Server }

// Entry is something that happened to a lock, or beside one. What an event does not have is zero, or nil where zero
// means something.
type Entry struct {
	Seq        int64
	Wall       time.Time
	Monotonic  time.Duration // since the server's start
	Event      string        // acquired, released, lost, queued, fault, mark, …
	DB         *int64
	Key        string
	Kind       string // native, or foreign where a script or a bare command took the lock
	Mode       string // exclusive, shared or write
	Owner      string
	Grant      *int64
	Holds      *int64
	TTL        *time.Duration
	Waited     *time.Duration
	Cause      string
	Client     *int64
	ClientName string
	By         string // the command, or the digest of the script
	Fault      string // what a fault did
	Text       string // the line of a mark
	From, To   *int64 // the clock before and after it was moved, in milliseconds
	Left, Held *int64 // how many permits of a semaphore are left, and how many are held
}

// Entries is what the history has of what was asked for.
type Entries struct {
	First     int64 // the oldest number that it still has
	Last      int64 // its newest number
	Truncated bool  // whether older entries had to go
	Entries   []Entry
}

// Filter of entries: [KeyLike], [OwnerLike], [Since], [Count].
type Filter []any

// KeyLike chooses entries of keys like this.
func KeyLike(pattern string) Filter { return Filter{"KEY", pattern} }

// OwnerLike chooses entries of owners like this.
func OwnerLike(pattern string) Filter { return Filter{"OWNER", pattern} }

// Since chooses what came after an entry.
func Since(seq int64) Filter { return Filter{"SINCE", seq} }

// Count chooses no more than so many entries; to [Await.Event] it means so many events.
func Count(count int) Filter { return Filter{"COUNT", count} }

// Entries tells the entries, the oldest first.
func (h *History) Entries(filters ...Filter) Entries {
	h.server.test.Helper()
	told := fields(h.server.must(history(filters)...))
	listed, _ := told["entries"].([]any)
	read := Entries{
		First:     integer(told["first"]),
		Last:      integer(told["last"]),
		Truncated: integer(told["truncated"]) != 0,
		Entries:   make([]Entry, 0, len(listed)),
	}
	for _, entry := range listed {
		read.Entries = append(read.Entries, readEntry(fields(entry)))
	}
	return read
}

func readEntry(told map[string]any) Entry {
	return Entry{
		Seq:        integer(told["seq"]),
		Wall:       instant(told["wall"]),
		Monotonic:  milliseconds(told["monotonic"]),
		Event:      text(told["event"]),
		DB:         maybe(told["db"], integer),
		Key:        text(told["key"]),
		Kind:       text(told["kind"]),
		Mode:       text(told["mode"]),
		Owner:      text(told["owner"]),
		Grant:      maybe(told["grant"], integer),
		Holds:      maybe(told["holds"], integer),
		TTL:        maybe(told["ttl"], milliseconds),
		Waited:     maybe(told["waited"], milliseconds),
		Cause:      text(told["cause"]),
		Client:     maybe(told["client"], integer),
		ClientName: text(told["clientname"]),
		By:         text(told["by"]),
		Fault:      text(told["fault"]),
		Text:       text(told["text"]),
		From:       maybe(told["from"], integer),
		To:         maybe(told["to"], integer),
		Left:       maybe(told["left"], integer),
		Held:       maybe(told["held"], integer),
	}
}

// JSON is the same as JSON.
func (h *History) JSON(filters ...Filter) string {
	h.server.test.Helper()
	return h.formatted("JSON", filters)
}

// EDN tells the operations on locks as EDN, as Jepsen's checkers read them.
func (h *History) EDN(filters ...Filter) string {
	h.server.test.Helper()
	return h.formatted("EDN", filters)
}

func (h *History) formatted(format string, filters []Filter) string {
	h.server.test.Helper()
	return text(h.server.must(append(history(filters), "FORMAT", format)...))
}

func history(filters []Filter) []any {
	words := []any{"LOCK.HISTORY"}
	for _, filter := range filters {
		words = append(words, filter...)
	}
	return words
}

// Mark writes a line of the test's own.
func (h *History) Mark(line string) {
	h.server.test.Helper()
	h.server.must("LOCK.MARK", line)
}

// Observe says that keys like this are locks too.
func (h *History) Observe(pattern string) {
	h.server.test.Helper()
	h.server.must("LOCK.OBSERVE", pattern)
}

// Unobserve says that they are no longer, for this pattern of [History.Observe].
func (h *History) Unobserve(pattern string) {
	h.server.test.Helper()
	h.server.must("LOCK.OBSERVE", "DEL", pattern)
}

// Enter declares that an owner is now in the section that a lock protects: two there at once are a violation.
func (h *History) Enter(key, owner string) {
	h.server.test.Helper()
	h.server.must("LOCK.ENTER", key, owner)
}

// EnterWith is [History.Enter] with the token of the owner's grant.
func (h *History) EnterWith(token int64, key, owner string) {
	h.server.test.Helper()
	h.server.must("LOCK.ENTER", key, owner, "TOKEN", token)
}

// Leave declares that an owner has left it; whether it was there.
func (h *History) Leave(key, owner string) bool {
	h.server.test.Helper()
	return integer(h.server.must("LOCK.LEAVE", key, owner)) == 1
}
