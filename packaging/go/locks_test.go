package lockwheel

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestALockIsTakenShownAndReleased(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	grant, err := server.Locks.Acquire("order:42", "alice", LockOptions{Lease: 5 * time.Second, Data: "invoice"})
	if err != nil || *grant.Token != 1 || *grant.Holds != 1 || *grant.TTL != 5*time.Second {
		t.Fatal(grant, err)
	}
	if again, err := server.Locks.Acquire("order:42", "bob"); again != nil || err != nil {
		t.Fatal(again, err)
	}
	taken, err := server.Locks.Acquire("order:42", "bob", LockOptions{GetHolder: true})
	if err != nil || taken.Token != nil || taken.Holder != "alice" {
		t.Fatal(taken, err)
	}
	info, err := server.Locks.Info("order:42", LockInfoOptions{Full: true})
	if err != nil || info.Mode != "exclusive" || *info.TTL != 5*time.Second || len(info.Grants) != 1 {
		t.Fatal(info, err)
	}
	if holder := info.Holders[0]; holder.Owner != "alice" || holder.Data != "invoice" || holder.Kind != "native" {
		t.Fatal(holder)
	}
	if free, err := server.Locks.Info("other"); err != nil || free.TTL != nil || len(free.Holders) != 0 {
		t.Fatal(free, err)
	}
	if is, err := server.Locks.Check("order:42", 1); err != nil || !is {
		t.Fatal(is, err)
	}
	renewed, err := server.Locks.Renew([]string{"order:42"}, "alice", 9*time.Second, RenewOptions{Token: 1})
	if err != nil || renewed[0] != 1 {
		t.Fatal(renewed, err)
	}
	if token, err := server.Locks.Transfer("order:42", "alice", "carol"); err != nil || token != 2 {
		t.Fatal(token, err)
	}
	page, err := server.Locks.Scan(0, ScanOptions{Match: "order:*"})
	if err != nil || page.Cursor != 0 || len(page.Keys) != 1 {
		t.Fatal(page, err)
	}
	var refused Error
	if err := server.Locks.AssertHeld("order:42", 1); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if _, err := server.Locks.Convert("order:42", "carol", "shard"); err == nil || !strings.Contains(err.Error(), "ModeShared") {
		t.Fatal(err)
	}
}

func TestAWaitForALockIsBounded(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	if _, err := server.Locks.Acquire("a", "alice", LockOptions{Lease: time.Second}); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		_, err := server.Locks.Acquire("a", "bob", LockOptions{Block: Forever})
		got <- err
	}()
	server.Await.Waiters("a", 1)
	server.Clock.Advance(time.Second)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestSemaphoresLatchesAndRates(t *testing.T) {
	server := RunWith(t, Options{Time: "manual"})
	if made, err := server.Semaphores.Init("pool", 3); err != nil || !made {
		t.Fatal(made, err)
	}
	permits, err := server.Semaphores.Acquire("pool", "alice", PermitOptions{Permits: 2, Lease: 5 * time.Second, IDs: true})
	if err != nil || permits.Left != 1 || len(permits.IDs) != 2 {
		t.Fatal(permits, err)
	}
	if info, err := server.Semaphores.Info("pool"); err != nil || *info.Holders[0].TTL != 5*time.Second {
		t.Fatal(info, err)
	}
	if left, err := server.Semaphores.Release("pool", "alice", ReturnOptions{IDs: permits.IDs}); err != nil || left != 3 {
		t.Fatal(left, err)
	}
	server.Latches.Set("start", 2)
	if open, err := server.Latches.Wait("start"); open != nil || err != nil {
		t.Fatal(open, err)
	}
	if left, err := server.Latches.CountDown("start", 2); err != nil || left != 0 {
		t.Fatal(left, err)
	}
	if open, err := server.Latches.Wait("start"); err != nil || open.State != "absent" {
		t.Fatal(open, err)
	}
	server.Rates.Set("mail", 1, time.Minute)
	server.Rates.Acquire("mail", 1)
	if refused, err := server.Rates.Acquire("mail", 0); err != nil || refused.Allowed || refused.RetryAfter != time.Minute {
		t.Fatal(refused, err)
	}
	if _, err := server.Rates.Throttle("api", 0, 1, 1500*time.Millisecond); err == nil {
		t.Fatal("it is no whole number of seconds")
	}
	if seen, err := server.Rates.Throttle("api", 0, 1, time.Minute); err != nil || seen.Limited {
		t.Fatal(seen, err)
	}
	server.Locks.Fence("disk", 3)
	if all, err := server.Locks.Fences(); err != nil || all["disk"].Highest != 3 {
		t.Fatal(all, err)
	}
}

func TestOptionsOfTheProgramHaveTypes(t *testing.T) {
	no := false
	server := RunWith(t, Options{LockHistoryMax: 100, LockJeopardy: 500 * time.Millisecond, LockLedger: &no, Threads: 2})
	for name, wanted := range map[string]string{"lock-history-max": "100", "lock-jeopardy": "500", "lock-ledger": "no"} {
		if got, err := server.Command("CONFIG", "GET", name); err != nil || list(got)[1] != wanted {
			t.Errorf("%s: %v, %v, not %s", name, got, err, wanted)
		}
	}
}
