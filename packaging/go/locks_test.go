package lockwheel

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// equal checks two values, of which the first is what a method returned.
func equal(t *testing.T, got, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Fatalf("%+v, not %+v", got, wanted)
	}
}

// must is a result without an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestALockIsTakenShownAndReleased(t *testing.T) {
	locks := RunWith(t, Options{Time: "manual"}).Locks
	grant := must(locks.Acquire("order:42", "alice", LockOptions{Lease: 5 * time.Second, Data: "invoice"}))
	equal(t, []any{*grant.Token, *grant.Holds, *grant.TTL}, []any{int64(1), int64(1), 5 * time.Second})
	equal(t, must(locks.Acquire("order:42", "bob")) == nil, true)
	taken := must(locks.Acquire("order:42", "bob", LockOptions{GetHolder: true}))
	equal(t, []any{taken.Token == nil, taken.Holder, *taken.Position, taken.Data}, []any{true, "alice", int64(1), "invoice"})

	info := must(locks.Info("order:42", LockInfoOptions{Full: true}))
	equal(t, []any{info.Mode, info.Layout, *info.TTL, len(info.Holders)}, []any{"exclusive", "hash", 5 * time.Second, 1})
	holder := info.Holders[0]
	equal(t, []any{holder.Owner, holder.Kind, *holder.Token, holder.Data}, []any{"alice", "native", int64(1), "invoice"})
	equal(t, []any{len(info.Waiters), info.Delay == nil, info.Grants}, []any{0, true, []int64{1}})
	free := must(locks.Info("other"))
	equal(t, []any{free.Mode, free.TTL == nil, len(free.Holders), len(free.Grants)}, []any{"free", true, 0, 0})

	equal(t, must(locks.Check("order:42", 1)), true)
	equal(t, locks.AssertHeld("order:42", 1), nil)
	equal(t, must(locks.Renew([]string{"order:42"}, "alice", 9*time.Second, RenewOptions{Token: 1})), []int64{1})
	equal(t, must(locks.Transfer("order:42", "alice", "carol", TransferOptions{Lease: 7 * time.Second})), int64(2))
	equal(t, must(locks.Scan(0, ScanOptions{Match: "order:*"})), LockPage{Cursor: 0, Keys: []string{"order:42"}})
	equal(t, must(locks.ForceUnlock("order:42", ForceUnlockOptions{Owner: "carol", Reason: "test"})), int64(1))
	equal(t, must(locks.Check("order:42", 1)), false)
	var refused Error
	equal(t, errors.As(locks.AssertHeld("order:42", 1), &refused), true)
}

func TestSeveralLocksAndTheirGraph(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	locks, shared := server.Locks, LockOptions{Mode: ModeShared}
	equal(t, len(must(locks.AcquireAll([]string{"a", "b"}, "alice", shared)).Tokens), 2)
	exclusive := LockOptions{Mode: ModeExclusive, GetHolder: true}
	equal(t, must(locks.AcquireAll([]string{"b", "c"}, "bob", exclusive)).Holder, "alice")
	equal(t, must(locks.ReleaseAll([]string{"a", "b"}, "alice")), []int64{0, 0})
	equal(t, *must(locks.AcquireAll([]string{"a", "b"}, "alice")).Waited, time.Duration(0))
	equal(t, len(must(locks.Graph()).Locks), 0)
	must(locks.Acquire("shared", "alice", shared))
	equal(t, must(locks.Convert("shared", "alice", ModeExclusive)).Token != nil, true)
	equal(t, strings.HasPrefix(must(locks.GraphDot()), "digraph"), true)
	equal(t, locks.Fence("disk", 3), nil)
	equal(t, must(locks.FenceInfo("disk")).Highest, int64(3))
	equal(t, must(locks.FenceInfo("other")) == nil, true)
	fences := must(locks.Fences())
	equal(t, []any{len(fences), fences["disk"].Accepted}, []any{1, int64(1)})
	equal(t, must(locks.FenceReset()), int64(1))
	equal(t, must(locks.Cancel("a", "bob")), int64(0))
	equal(t, server.History.Stats(StatsOptions{Key: "a"}).Holds, int64(2))
}

func TestSemaphoresLatchesAndRates(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	pool := server.Semaphores
	equal(t, must(pool.Init("pool", 3)), true)
	permits := must(pool.Acquire("pool", "alice", PermitOptions{Permits: 2, Lease: 5 * time.Second, IDs: true}))
	equal(t, []any{permits.Permits, permits.Left, len(permits.IDs)}, []any{int64(2), int64(1), 2})
	equal(t, must(pool.Acquire("pool", "bob", PermitOptions{Permits: 2})) == nil, true)
	info := must(pool.Info("pool"))
	equal(t, []any{info.Layout, *info.Left, info.Held}, []any{"ids", int64(1), int64(2)})
	for _, holder := range info.Holders {
		equal(t, *holder.TTL, 5*time.Second)
	}
	equal(t, must(pool.Renew("pool", permits.IDs[0], 9*time.Second)), true)
	equal(t, must(pool.Release("pool", "alice", ReturnOptions{IDs: permits.IDs})), int64(3))
	equal(t, []int64{must(pool.Adjust("pool", -1)), must(pool.Drain("pool"))}, []int64{2, 2})

	latches := server.Latches
	equal(t, must(latches.Set("start", 2)), true)
	equal(t, must(latches.Wait("start")) == nil, true)
	equal(t, []int64{must(latches.CountDown("start")), must(latches.Get("start"))}, []int64{1, 1})
	must(latches.CountDown("start", 1))
	equal(t, must(latches.Wait("start")).State, "absent")

	rates := server.Rates
	equal(t, must(rates.Set("mail", 1, time.Minute)), true)
	equal(t, must(rates.Acquire("mail", 1)).Allowed, true)
	equal(t, *must(rates.Acquire("mail", 0)), RateDecision{Allowed: false, Left: 0, RetryAfter: time.Minute})
	equal(t, must(rates.Throttle("api", 0, 1, time.Minute, 0)).Left, int64(1))
	equal(t, must(rates.Throttle("api", 0, 1, time.Minute)).Limited, false)
	_, err := rates.Throttle("api", 0, 1, 1500*time.Millisecond)
	equal(t, err.Error(), "CL.THROTTLE: this duration is a whole number of seconds, not 1.5s")
}

func TestFaultsMeetLocksAsTheyMeetCommands(t *testing.T) {
	server := Run(t)
	server.Faults.Add("refuse", ReplyError("BUSY now"), Match{On: "lock.acquire"})
	must(server.Locks.Acquire("a", "alice"))
	server.Faults.Exempt(false)
	_, err := server.Locks.Acquire("a", "alice")
	equal(t, err.Error(), "LOCK.ACQUIRE a alice: BUSY now")
}

func TestAWaiterGetsTheLockWhenTheLeaseExpires(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	grant := must(server.Locks.Acquire("a", "alice", LockOptions{Lease: 5 * time.Second}))
	granted := make(chan *Grant)
	go func() { granted <- must(server.Locks.Acquire("a", "bob", LockOptions{Block: Forever})) }()
	server.Await.Waiters("a", 1)
	// The connection of locks waits. The state of the lock is read on another one.
	info := must(try[LockInfo](server.steer, "LOCK.INFO", "a"))
	equal(t, []string{info.Waiters[0].Owner, info.Waiters[0].Kind}, []string{"bob", "native"})
	server.Clock.Advance(5 * time.Second)
	equal(t, *(<-granted).Token, *grant.Token+1)
}

func TestOptionsOfTheProgramHaveTypes(t *testing.T) {
	server := RunWith(t, Options{
		Time: StartAt(time.Date(2030, 1, 1, 0, 0, 0, 5_000_000, time.UTC)), LockHistoryMax: Ptr(100),
		LockJeopardy: 500 * time.Millisecond, LockLedger: Ptr(false), LockWakeupLimit: Ptr(time.Duration(0)), Threads: Ptr(2),
	})
	equal(t, server.Clock.Info().Wall.UnixMilli(), int64(1893456000005))
	for name, wanted := range map[string]string{
		"lock-history-max": "100", "lock-jeopardy": "500", "lock-ledger": "no", "lock-wakeup-limit": "0", "threads": "2",
	} {
		equal(t, fmt.Sprint(must(server.Command("CONFIG", "GET", name))), "["+name+" "+wanted+"]")
	}
	_, err := Start(Options{LockJeopardy: time.Microsecond})
	equal(t, err.Error(), "Options.LockJeopardy: a duration is a whole number of milliseconds, not 1µs")
}

func TestARequestHasItsOptionsInOrder(t *testing.T) {
	for wanted, parts := range map[string][]any{
		"FREEZE 7 FOREVER":                    {"FREEZE", ClientID(7), orElse(0, "FOREVER")},
		"PART NODES 0,1 FROM 2":               {"PART", "NODES", []int{0, 1}, option{"FROM", []int{2}}},
		"PART NODES 0,1":                      {"PART", "NODES", []int{0, 1}, option{"FROM", []int(nil)}},
		"SEM.RELEASE k me PERMITS 2 ID x y":   {"SEM.RELEASE", "k", "me", ReturnOptions{Permits: 2, IDs: []string{"x", "y"}}},
		"AWAIT.KEY k gone":                    {"AWAIT.KEY", "k", keyState("gone")},
		"AWAIT.KEY k TYPE list":               {"AWAIT.KEY", "k", keyState("list")},
		"LOCK.ACQUIRE k me FAIR PX 5 BLOCK 0": {"LOCK.ACQUIRE", "k", "me", LockOptions{Mode: ModeFair, Lease: 5e6, Block: Forever}},
		"FAULT.ADD r ON GET DO DELAY 1":       {"FAULT.ADD", "r", []Match{{On: "GET"}}, "DO", Delay(time.Millisecond)},
	} {
		equal(t, line(must(request(parts...))), wanted)
	}
	for wanted, part := range map[string]any{
		"Client: a rule names clients by id, name or library":           Match{Client: AllClients()},
		"Lease: a duration is a whole number of milliseconds, not 1ns":  LockOptions{Lease: 1},
		"Limit: a duration is a whole number of milliseconds, not -1ns": AwaitOptions{Limit: Forever},
	} {
		_, err := request(part)
		equal(t, err.Error(), wanted)
	}
}

// A reply of another shape than that of its type is an error, never a zero value.
func TestTheShapeOfAReplyIsChecked(t *testing.T) {
	for wanted, reply := range map[string]any{
		"the reply is no map: 5":                    int64(5),
		"mode: the reply is no text: <nil>":         []any{},
		"wall: the reply is no integer: now":        []any{"mode", "real", "wall", "now"},
		"monotonic: the reply is no integer: <nil>": []any{"mode", "real", "wall", int64(1)},
	} {
		equal(t, read(reply, reflect.ValueOf(&ClockInfo{}).Elem()).Error(), wanted)
	}
	for wanted, into := range map[string]any{
		"the reply is no array: x":                        new([]string),
		"the reply is no integer: x":                      new(*int64),
		`strconv.ParseFloat: parsing "x": invalid syntax`: new(float64),
		"the reply is no map: x":                          new(map[string]Fence),
	} {
		equal(t, read("x", reflect.ValueOf(into).Elem()).Error(), wanted)
	}
	test := &failing{}
	server := RunWith(test, Options{})
	defer server.Stop()
	func() {
		defer func() { recover() }()
		ask[LockInfo](server, "PING")
	}()
	equal(t, test.logged, "PING: the reply is no map: PONG")
}
