package lockwheel

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Faults makes faults: by rules for single requests, and for whole clients or the whole server. The package's own
// connections are exempt unless [Faults.Exempt] says otherwise. A reset of the server ends every fault.
type Faults struct{ server *Server }

// Match says which requests a rule matches, and which of these it acts on. All that is not zero has to match.
type Match struct {
	On       string   // the command
	Script   string   // the digest of the script
	Contains string   // what the text of the script contains
	Key      string   // a pattern of keys
	Channel  string   // a pattern of channels
	Arg      int      // an argument, 1 being the first behind the command; 0: any
	Value    string   // what Arg is
	Client   *Clients // by id, name or library
	Result   string   // for actions on the reply: OK, ERROR or NIL
	Skip     int64    // so many matches pass first
	Times    int64    // after so many hits the rule rests; 0: never
	Prob     *float64 // the chance, from 0 to 1; the seed draws. nil: always
}

// Rule is a rule, and what came of it.
type Rule struct {
	Name    string
	Rule    string // its words behind the name
	Matched int64
	Skipped int64
	Hits    int64  // how often it has acted
	Left    *int64 // how often it can still act; nil: there is no end to it
	Held    int64  // how many requests or replies it holds
}

// Direction of a partition.
type Direction string

// What clients send, what they are sent, and both.
const (
	In   Direction = "IN"
	Out  Direction = "OUT"
	Both Direction = "BOTH"
)

func (d Direction) check() error {
	return checkWord("the direction", string(d), word{"In", "IN"}, word{"Out", "OUT"}, word{"Both", "BOTH"})
}

// Add adds a rule: requests that match meet the action. Of several rules the oldest acts.
func (f *Faults) Add(name string, match Match, action Action) {
	f.server.test.Helper()
	if err := match.check(); err != nil {
		f.server.fail("FAULT.ADD %s: %v", name, err)
	}
	words := append([]any{"FAULT.ADD", name}, match.words()...)
	f.server.must(append(append(words, "DO"), action...)...)
}

// check refuses what no reply is.
func (m Match) check() error {
	if m.Result == "" {
		return nil
	}
	return checkWord("Match.Result", m.Result, word{"OK", "OK"}, word{"ERROR", "ERROR"}, word{"NIL", "NIL"})
}

func (m Match) words() []any {
	var words []any
	option := func(name, value string) {
		if value != "" {
			words = append(words, name, value)
		}
	}
	option("ON", m.On)
	option("SCRIPT", m.Script)
	option("CONTAINS", m.Contains)
	option("KEY", m.Key)
	option("CHANNEL", m.Channel)
	if m.Arg != 0 {
		words = append(words, "ARG", m.Arg, m.Value)
	}
	if m.Client != nil {
		words = append(words, m.Client.ofRule()...)
	}
	option("RESULT", m.Result)
	if m.Skip != 0 {
		words = append(words, "SKIP", m.Skip)
	}
	if m.Times != 0 {
		words = append(words, "TIMES", m.Times)
	}
	if m.Prob != nil {
		words = append(words, "PROB", *m.Prob)
	}
	return words
}

// Go lets go on what a rule holds, the oldest first. How many there were.
func (f *Faults) Go(name string) int64 {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.GO", name))
}

// GoCount lets go on so many of what a rule holds, the oldest first. How many there were.
func (f *Faults) GoCount(name string, count int) int64 {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.GO", name, "COUNT", count))
}

// List tells the rules, the oldest first.
func (f *Faults) List() []Rule {
	f.server.test.Helper()
	entries, _ := f.server.must("FAULT.LIST").([]any)
	rules := make([]Rule, 0, len(entries))
	for _, entry := range entries {
		told := fields(entry)
		rules = append(rules, Rule{
			Name:    text(told["name"]),
			Rule:    text(told["rule"]),
			Matched: integer(told["matched"]),
			Skipped: integer(told["skipped"]),
			Hits:    integer(told["hits"]),
			Left:    maybe(told["left"], integer),
			Held:    integer(told["held"]),
		})
	}
	return rules
}

// Remove removes a rule, if it is there; what it holds goes on.
func (f *Faults) Remove(name string) bool {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.DEL", name)) == 1
}

// Clear removes all rules; what they hold goes on. How many there were.
func (f *Faults) Clear() int64 {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.CLEAR"))
}

// Seed draws for [Match.Prob] from this seed from now on.
func (f *Faults) Seed(seed int64) {
	f.server.test.Helper()
	f.server.must("FAULT.SEED", seed)
}

// Exempt says whether rules leave out what [Server.Command] sends; they do unless told.
func (f *Faults) Exempt(isExempt bool) {
	f.server.test.Helper()
	f.server.commands.setExempt(isExempt)
}

// FreezeClient reads nothing from clients and writes nothing to them, as if their processes stood still, for so long on
// the monotonic clock; 0: until [Faults.ThawClient]. How many there are.
func (f *Faults) FreezeClient(clients Clients, duration time.Duration) int64 {
	f.server.test.Helper()
	var lasts any = "FOREVER"
	if duration != 0 {
		lasts = duration
	}
	return integer(f.server.must(append(append([]any{"FAULT.FREEZECLIENT"}, clients.words()...), lasts)...))
}

// ThawClient lets frozen clients go on. How many there are.
func (f *Faults) ThawClient(clients Clients) int64 {
	f.server.test.Helper()
	return integer(f.server.must(append([]any{"FAULT.THAWCLIENT"}, clients.words()...)...))
}

// Partition cuts clients off, new connections of theirs too. How many there are now.
func (f *Faults) Partition(clients Clients, direction Direction) int64 {
	f.server.test.Helper()
	return f.partition(clients.words(), direction)
}

// Heal ends all partitions. How many there were.
func (f *Faults) Heal() int64 {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.HEAL"))
}

// Lag lets writes, of keys like this if the pattern is not empty, reach no replica from now on.
func (f *Faults) Lag(pattern string) {
	f.server.test.Helper()
	words := []any{"FAULT.LAG"}
	if pattern != "" {
		words = append(words, "KEY", pattern)
	}
	f.server.must(words...)
}

// What [Faults.Failover], [Faults.Restart] and [Faults.Down] do beside.
const (
	ForgetTokens = "TOKENS" // the numbers of grants go back too, of a failover or a restart
	KeepData     = "KEEP"   // the data stays, of a restart or of a server that was killed
)

// Failover lets a replica take over: keys are as they were at [Faults.Lag], the scripts are gone, every other connection
// is cut.
func (f *Faults) Failover(options ...string) {
	f.server.test.Helper()
	f.cut([]any{"FAULT.FAILOVER"}, options, forgetTokens)
}

// Restart is a restart without persistence: keys, scripts and connections are gone, and nobody is let in for so long.
// With [KeepData] the connections alone are gone.
func (f *Faults) Restart(down time.Duration, options ...string) {
	f.server.test.Helper()
	words := []any{"FAULT.RESTART"}
	if down != 0 {
		words = append(words, "DOWN", down)
	}
	f.server.prepare()
	f.cut(words, options, keepData, forgetTokens)
}

// Down kills a member of a topology, named by its place from 0, as if its process had ended: its clients and links are
// cut, its data is gone unless [KeepData] is said, and nobody is let in for so long; 0: until [Faults.Up].
func (f *Faults) Down(server int, backAfter time.Duration, options ...string) {
	f.server.test.Helper()
	words := []any{"FAULT.DOWN", server}
	if backAfter != 0 {
		words = append(words, backAfter)
	}
	words = f.with(words, options, keepData)
	other := f.server.beside(server)
	defer other.close()
	f.server.mustBy(other.do, words)
	f.server.commands.leave(server)
}

// Up lets a server that was killed come back. Whether it was down.
func (f *Faults) Up(server int) bool {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.UP", server)) == 1
}

// Part cuts servers off from others, or from all if none are named, until [Faults.Heal]. How many connections between
// them that holds.
func (f *Faults) Part(servers []int, others ...int) int64 {
	f.server.test.Helper()
	words := []any{"FAULT.PARTITION", "NODES", places(servers)}
	if len(others) > 0 {
		words = append(words, "FROM", places(others))
	}
	return integer(f.server.must(words...))
}

// PartFromClients cuts servers off from their clients, new ones included, until [Faults.Heal]. How many there are now.
func (f *Faults) PartFromClients(servers []int, direction Direction) int64 {
	f.server.test.Helper()
	return f.partition([]any{"NODES", places(servers), "FROM", "CLIENTS"}, direction)
}

func (f *Faults) partition(clients []any, direction Direction) int64 {
	f.server.test.Helper()
	if err := direction.check(); err != nil {
		f.server.fail("FAULT.PARTITION: %v", err)
	}
	f.server.prepare()
	return integer(f.server.must(append(append([]any{"FAULT.PARTITION"}, clients...), string(direction))...))
}

func places(servers []int) string {
	words := make([]string, len(servers))
	for n, server := range servers {
		words[n] = strconv.Itoa(server)
	}
	return strings.Join(words, ",")
}

// LagBy lets replicas be told everything so much later from now on, on the clock that all share.
func (f *Faults) LagBy(lag time.Duration) {
	f.server.test.Helper()
	f.server.must("FAULT.LAG", lag)
}

// FailoverTo lets a replica take over with what it has; clients of its master are cut, and that follows it.
func (f *Faults) FailoverTo(replica int, options ...string) {
	f.server.test.Helper()
	f.cut([]any{"FAULT.FAILOVER", replica}, options, forgetTokens)
}

var forgetTokens, keepData = word{"ForgetTokens", ForgetTokens}, word{"KeepData", KeepData}

// cut asks for what cuts connections.
func (f *Faults) cut(words []any, options []string, known ...word) {
	f.server.test.Helper()
	f.server.must(f.with(words, options, known...)...)
}

// with adds the options, in the order in which the server wants those that it knows.
func (f *Faults) with(words []any, options []string, known ...word) []any {
	f.server.test.Helper()
	for _, option := range options {
		if err := checkWord("the option", option, known...); err != nil {
			f.server.fail("%s: %v", line(words), err)
		}
	}
	for _, each := range known {
		if slices.ContainsFunc(options, func(option string) bool { return strings.EqualFold(option, each.value) }) {
			words = append(words, each.value)
		}
	}
	return words
}
