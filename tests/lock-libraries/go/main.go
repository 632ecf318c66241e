// The lock of redsync, over go-redis, with one server.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// Arguments: the port, the lock's name, its lease in milliseconds. Reads steps, a line each, and says a line each how
// they went.
func main() {
	lease, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})
	pools := redsync.New(goredis.NewPool(client))
	var held *redsync.Mutex
	steps := bufio.NewScanner(os.Stdin)
	for steps.Scan() {
		switch steps.Text() {
		case "take":
			asked := pools.NewMutex(os.Args[2], redsync.WithTries(1),
				redsync.WithExpiry(time.Duration(lease)*time.Millisecond))
			if taken(asked.TryLock()) {
				held = asked
				fmt.Println("held", held.Value())
			} else {
				fmt.Println("refused")
			}
		case "extend":
			fmt.Println(outcome(held.Extend()))
		case "release":
			fmt.Println(outcome(held.Unlock()))
		}
	}
}

func taken(err error) bool {
	var other *redsync.ErrTaken
	if err != nil && !errors.As(err, &other) && !errors.Is(err, redsync.ErrFailed) {
		panic(err)
	}
	return err == nil
}

func outcome(done bool, err error) string {
	if done {
		return "done"
	}
	var other *redsync.ErrTaken
	if err == nil || errors.As(err, &other) || errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.Is(err, redsync.ErrExtendFailed) {
		return "lost"
	}
	panic(err)
}
