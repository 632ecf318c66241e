package lockwheel

import (
	"time"
)

// Action is what a rule does. Durations are of the monotonic clock, in whole milliseconds.
type Action []any

// DropRequest loses the request, and all that its connection sends and is sent from there on, until the client closes
// it.
func DropRequest() Action { return Action{"DROPREQUEST"} }

// DropReply executes the request and loses its reply, as [DropRequest] loses the request.
func DropReply() Action { return Action{"DROPREPLY"} }

// ClosedAfter is [DropRequest] or [DropReply] on a connection that the server cuts after so long.
func (a Action) ClosedAfter(duration time.Duration) Action {
	return append(a[:len(a):len(a)], "CLOSEAFTER", duration)
}

// WithJitter is [Delay] or [DelayReply] by up to so much sooner or later; the seed draws.
func (a Action) WithJitter(duration time.Duration) Action {
	return append(a[:len(a):len(a)], "JITTER", duration)
}

// Delay executes the request so much later; what is behind it on its connection waits too.
func Delay(by time.Duration) Action { return Action{"DELAY", by} }

// DelayReply executes the request at once and answers it so much later.
func DelayReply(by time.Duration) Action { return Action{"DELAYREPLY", by} }

// Hold executes the request when [Faults.Go] says so.
func Hold() Action { return Action{"HOLD"} }

// HoldReply executes the request at once and answers it when [Faults.Go] says so.
func HoldReply() Action { return Action{"HOLDREPLY"} }

// ReplyError answers this error and does not execute the request.
func ReplyError(text string) Action { return Action{"ERROR", text} }

// ReplyNull executes the request and answers null.
func ReplyNull() Action { return Action{"REPLY", "NULL"} }

// ReplyOK executes the request and answers OK.
func ReplyOK() Action { return Action{"REPLY", "OK"} }

// ReplyInt executes the request and answers this integer.
func ReplyInt(number int64) Action { return Action{"REPLY", "INT", number} }

// ReplyBulk executes the request and answers this string.
func ReplyBulk(text string) Action { return Action{"REPLY", "BULK", text} }

// ReplyRaw executes the request and sends these bytes, which need not be a reply.
func ReplyRaw(bytes string) Action { return Action{"REPLY", "RAW", bytes} }

// Close cuts the connection before the request is executed.
func Close() Action { return Action{"CLOSE"} }

// CloseAfter cuts the connection after the request was executed; there is no reply.
func CloseAfter() Action { return Action{"CLOSEAFTER"} }

// Reset is [Close] by a reset of TCP instead of an end of the stream.
func Reset() Action { return Action{"RESET"} }

// ResetAfter is [CloseAfter] by a reset of TCP instead of an end of the stream.
func ResetAfter() Action { return Action{"RESETAFTER"} }

// Slice sends the reply in pieces of so many bytes, each in a write of its own.
func Slice(length int) Action { return Action{"SLICE", length} }

// Every is [Slice] with one piece each time that so long has passed.
func (a Action) Every(duration time.Duration) Action {
	return append(a[:len(a):len(a)], "EVERY", duration)
}

// Bandwidth sends the reply at so many kilobytes a second.
func Bandwidth(kilobytes int) Action { return Action{"BANDWIDTH", kilobytes} }

// Truncate ends the reply after so many bytes and cuts the connection.
func Truncate(length int) Action { return Action{"TRUNCATE", length} }

// Duplicate executes the request twice and answers it once.
func Duplicate() Action { return Action{"DUPLICATE"} }

// LosePublish executes the request; the messages that it publishes reach nobody, or not the clients that are named.
func LosePublish() Action { return Action{"LOSEPUBLISH"} }

// NoScript makes the server forget the script that the request names.
func NoScript() Action { return Action{"NOSCRIPT"} }

// Expire lets the keys of the request expire just before it is executed.
func Expire() Action { return Action{"EXPIRE"} }

// ArgAdd executes the request with this integer argument changed; 1 is the first behind the command.
func ArgAdd(index int, by int64) Action { return Action{"ARG", index, "ADD", by} }

// TimeShift executes the request with every timestamp among its arguments shifted by the clock's offset.
func TimeShift() Action { return Action{"TIMESHIFT"} }

// Clients are some clients.
type Clients struct{ kind, name string }

// ClientID is one, by its number.
func ClientID(id int64) Clients { return Clients{"", itoa(id)} }

// ClientsNamed are those with a name like this.
func ClientsNamed(pattern string) Clients { return Clients{"NAME", pattern} }

// ClientsOfLib are those whose library has a name like this, as CLIENT SETINFO told it.
func ClientsOfLib(pattern string) Clients { return Clients{"LIB", pattern} }

// ClientsAt are those from this address, with or without a port.
func ClientsAt(address string) Clients { return Clients{"ADDR", address} }

// AllClients are all but those that are exempt.
func AllClients() Clients { return Clients{"ALL", ""} }

func (c Clients) words() []any {
	switch c.kind {
	case "":
		return []any{c.name}
	case "ALL":
		return []any{"ALL"}
	}
	return []any{c.kind, c.name}
}

// ofRule names them in a rule; what a rule cannot name, the server refuses.
func (c Clients) ofRule() []any {
	switch c.kind {
	case "":
		return []any{"CLIENT", c.name}
	case "NAME":
		return []any{"CLIENTNAME", c.name}
	}
	return c.words()
}
