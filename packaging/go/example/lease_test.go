package example

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/lockwheel/lockwheel/packaging/go"
	"github.com/redis/go-redis/v9"
)

func TestALeaseRunsOutWhileItsHolderWorks(t *testing.T) {
	server := lockwheel.Run(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	locks := redsync.New(goredis.NewPool(client))
	holder := locks.NewMutex("order:42", redsync.WithExpiry(8*time.Second), redsync.WithTries(1))
	other := locks.NewMutex("order:42", redsync.WithExpiry(8*time.Second), redsync.WithTries(1))

	if err := holder.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := other.Lock(); err == nil {
		t.Fatal("two holders")
	}
	server.Clock.Advance(8 * time.Second) // the holder works on, and its lease ends

	if err := other.Lock(); err != nil {
		t.Fatal("the lease has ended:", err)
	}
	var taken *redsync.ErrTaken
	if ok, err := holder.Unlock(); ok || !(errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired)) {
		t.Fatal("the first holder is told that it has lost the lock:", ok, err)
	}
	if value := client.Get(context.Background(), "order:42"); value.Err() != nil {
		t.Fatal("and the second still holds it:", value.Err())
	}
}
