package lockwheel

import (
	"time"
)

// Clock moves the two clocks of a server: the wall clock, on which keys expire, and the monotonic one, on which
// blocked clients wait. Times are whole milliseconds; a test fails by others.
type Clock struct{ server *Server }

// Turned describes the effects of one advance of the clock.
type Turned struct {
	Wall    time.Time // where the wall clock stands
	Fired   int64     // how many deadlines have fired
	Settled bool      // whether the clients fell silent after each instant, where [Settle] asked for it
	What    []Fired   // what Next has fired
}

// Fired is a deadline that has fired.
type Fired struct {
	Kind   string
	Key    string // whose it is, where that is a key
	Client int64  // whose it is, where that is a client
}

// Option of an advance: [Settle], [NoWake].
type Option func([]any) []any

// Settle goes on after each instant only when no command has come for so long (at most limit in all, 0: five seconds),
// so that asynchronous clients react at the instant they were told at.
func Settle(quiet, limit time.Duration) Option {
	return func(arguments []any) []any {
		arguments = append(arguments, "SETTLE", quiet)
		if limit != 0 {
			arguments = append(arguments, "LIMIT", limit)
		}
		return arguments
	}
}

// NoWake does not notify Redisson's waiters of leases that the advance ends.
func NoWake() Option {
	return func(arguments []any) []any { return append(arguments, "NOWAKE") }
}

// Info is where the clock stands.
type Info struct {
	Manual    bool
	Wall      time.Time
	Monotonic time.Duration
	Offset    time.Duration  // the wall clock minus the system's time
	Next      *time.Duration // until the next deadline on either hand; nil: there is none
	Timers    int64
}

// Freeze lets both clocks stand still from this instant.
func (c *Clock) Freeze() time.Time {
	c.server.test.Helper()
	return c.wall("FREEZE")
}

// Resume lets both clocks run from where they stand.
func (c *Clock) Resume() time.Time {
	c.server.test.Helper()
	return c.wall("RESUME")
}

// Reset makes the wall clock the system's time again; both clocks run.
func (c *Clock) Reset() time.Time {
	c.server.test.Helper()
	return c.wall("RESET")
}

// Step moves the wall clock alone, back too: a clock that jumps.
func (c *Clock) Step(by time.Duration) time.Time {
	c.server.test.Helper()
	return c.wall("STEP", by)
}

// Set moves the wall clock alone to an instant.
func (c *Clock) Set(to time.Time) time.Time {
	c.server.test.Helper()
	return c.wall("SET", to)
}

// Advance moves both clocks. Every deadline on the way fires at its own instant before Advance returns.
func (c *Clock) Advance(by time.Duration, options ...Option) Turned {
	c.server.test.Helper()
	return c.turn([]any{"CLOCK.ADVANCE", by}, options)
}

// Next moves both clocks to the next deadline, count times, and fires what is due there. Fired is 0 when there is none.
func (c *Clock) Next(count int, options ...Option) Turned {
	c.server.test.Helper()
	return c.turn([]any{"CLOCK.NEXT", "COUNT", count}, options)
}

// Info tells where the clock stands.
func (c *Clock) Info() Info {
	c.server.test.Helper()
	told := fields(c.server.must("CLOCK.INFO"))
	return Info{
		Manual:    told["mode"] == "manual",
		Wall:      instant(told["wall"]),
		Monotonic: milliseconds(told["monotonic"]),
		Offset:    milliseconds(told["offset"]),
		Next:      maybe(told["next"], milliseconds),
		Timers:    integer(told["timers"]),
	}
}

func (c *Clock) wall(verb string, arguments ...any) time.Time {
	c.server.test.Helper()
	return instant(c.server.must(append([]any{"CLOCK." + verb}, arguments...)...))
}

func (c *Clock) turn(arguments []any, options []Option) Turned {
	c.server.test.Helper()
	for _, option := range options {
		arguments = option(arguments)
	}
	reply := c.server.must(arguments...)
	if reply == nil {
		return Turned{}
	}
	told := fields(reply)
	turned := Turned{Wall: instant(told["wall"]), Fired: integer(told["fired"]), Settled: integer(told["settled"]) == 1}
	for _, fired := range list(told["what"]) {
		if pair := list(fired); len(pair) == 2 {
			turned.What = append(turned.What, Fired{Kind: text(pair[0]), Key: text(pair[1]), Client: integer(pair[1])})
		}
	}
	return turned
}
