package lockwheel

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Faults injects faults: rules for single requests, and faults of clients or of the whole server. The package's own
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

// Add adds a rule: the action acts on matching requests. If several rules match, the oldest acts.
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

// Go releases the requests and replies that a rule holds, oldest first. It returns their number.
func (f *Faults) Go(name string) int64 {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.GO", name))
}

// GoCount releases at most count requests and replies that a rule holds, oldest first. It returns their number.
func (f *Faults) GoCount(name string, count int) int64 {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.GO", name, "COUNT", count))
}

// List returns the rules, oldest first.
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

// Remove removes a rule and releases what it holds. It returns whether the rule existed.
func (f *Faults) Remove(name string) bool {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.DEL", name)) == 1
}

// Clear removes all rules and releases what they hold. It returns the number of rules.
func (f *Faults) Clear() int64 {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.CLEAR"))
}

// Seed sets the seed of the draws for [Match.Prob].
func (f *Faults) Seed(seed int64) {
	f.server.test.Helper()
	f.server.must("FAULT.SEED", seed)
}

// Exempt sets whether rules ignore the requests of [Server.Command]. By default they do.
func (f *Faults) Exempt(isExempt bool) {
	f.server.test.Helper()
	f.server.commands.setExempt(isExempt)
}

// FreezeClient freezes clients for this time on the monotonic clock; 0: until [Faults.ThawClient]. The server reads
// nothing from them and writes nothing to them. It returns the number of clients.
func (f *Faults) FreezeClient(clients Clients, duration time.Duration) int64 {
	f.server.test.Helper()
	var lasts any = "FOREVER"
	if duration != 0 {
		lasts = duration
	}
	return integer(f.server.must(append(append([]any{"FAULT.FREEZECLIENT"}, clients.words()...), lasts)...))
}

// ThawClient thaws frozen clients. It returns their number.
func (f *Faults) ThawClient(clients Clients) int64 {
	f.server.test.Helper()
	return integer(f.server.must(append([]any{"FAULT.THAWCLIENT"}, clients.words()...)...))
}

// Partition cuts clients off, including their new connections. It returns the present number of clients.
func (f *Faults) Partition(clients Clients, direction Direction) int64 {
	f.server.test.Helper()
	return f.partition(clients.words(), direction)
}

// Heal ends all partitions. It returns their number.
func (f *Faults) Heal() int64 {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.HEAL"))
}

// Lag stops the replication of later writes, or of those to keys that match a pattern that is not empty.
func (f *Faults) Lag(pattern string) {
	f.server.test.Helper()
	words := []any{"FAULT.LAG"}
	if pattern != "" {
		words = append(words, "KEY", pattern)
	}
	f.server.must(words...)
}

// Options of [Faults.Failover], [Faults.Restart] and [Faults.Down].
const (
	ForgetTokens = "TOKENS" // the numbers of grants go back too, of a failover or a restart
	KeepData     = "KEEP"   // the data stays, of a restart or of a server that was killed
)

// Failover simulates a failover: it restores the keys as at [Faults.Lag], forgets the scripts, and cuts all other
// connections.
func (f *Faults) Failover(options ...string) {
	f.server.test.Helper()
	f.cut([]any{"FAULT.FAILOVER"}, options, forgetTokens)
}

// Restart simulates a restart without persistence: it drops keys, scripts and connections, and refuses connections for
// this time. With [KeepData], it drops only the connections.
func (f *Faults) Restart(down time.Duration, options ...string) {
	f.server.test.Helper()
	words := []any{"FAULT.RESTART"}
	if down != 0 {
		words = append(words, "DOWN", down)
	}
	f.server.prepare()
	f.cut(words, options, keepData, forgetTokens)
}

// Down kills a server of a topology, which is numbered from 0: it cuts the server's clients and links, drops its data
// unless [KeepData] is given, and refuses connections for this time; 0: until [Faults.Up].
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

// Up brings a killed server back. It returns whether the server was down.
func (f *Faults) Up(server int) bool {
	f.server.test.Helper()
	return integer(f.server.must("FAULT.UP", server)) == 1
}

// Part cuts servers off from others, or from all others if none are given, until [Faults.Heal]. It returns the number
// of connections that are held.
func (f *Faults) Part(servers []int, others ...int) int64 {
	f.server.test.Helper()
	words := []any{"FAULT.PARTITION", "NODES", places(servers)}
	if len(others) > 0 {
		words = append(words, "FROM", places(others))
	}
	return integer(f.server.must(words...))
}

// PartFromClients cuts servers off from their clients, including new ones, until [Faults.Heal]. It returns the number
// of clients.
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

// LagBy delays replication by this time on the clock that all servers share.
func (f *Faults) LagBy(lag time.Duration) {
	f.server.test.Helper()
	f.server.must("FAULT.LAG", lag)
}

// FailoverTo makes a replica the master, with the data that it has. It cuts the clients of the old master, which then
// follows the new one.
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
