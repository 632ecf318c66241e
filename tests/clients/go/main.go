// go-redis: connects with its defaults, sends the script, and uses its own interfaces. `main PORT PROTOCOL SCRIPT`.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

var word = regexp.MustCompile(`'([^']*)'|(\S+)`)

// show gives a reply as text; what has no order gets one.
func show(value any) string {
	switch value := value.(type) {
	case []any:
		var items []string
		for _, item := range value {
			items = append(items, show(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[any]any:
		var items []string
		for key, item := range value {
			items = append(items, show(key)+": "+show(item))
		}
		sort.Strings(items)
		return "{" + strings.Join(items, ", ") + "}"
	default:
		return fmt.Sprintf("%T %v", value, value)
	}
}

func main() {
	if shape := os.Args[1]; shape == "cluster" || shape == "sentinel" {
		shapes(shape, os.Args[2:])
		return
	}
	port, protocol := os.Args[1], os.Args[2]
	options := &redis.Options{Addr: "127.0.0.1:" + port}
	if protocol != "0" {
		options.Protocol, _ = strconv.Atoi(protocol)
	}
	client := redis.NewClient(options)
	defer client.Close()
	all := context.Background()
	// One connection, as MULTI wants it.
	single := client.Conn()
	script, err := os.Open(os.Args[3])
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(script)
	for number := 1; lines.Scan(); number++ {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var words []any
		for _, match := range word.FindAllStringSubmatch(lines.Text(), -1) {
			words = append(words, strings.ReplaceAll(match[1], `\n`, "\n")+match[2])
		}
		value, err := single.Do(all, words...).Result()
		fmt.Println(number, show(value), err)
	}
	single.Close()
	withInterfaces(all, client, options)
}

func withInterfaces(all context.Context, client *redis.Client, options *redis.Options) {
	commands, err := client.TxPipelined(all, func(pipe redis.Pipeliner) error {
		pipe.Set(all, "a", 1, 0)
		pipe.Incr(all, "a")
		pipe.HSet(all, "h", "f", "v")
		pipe.HGetAll(all, "h")
		pipe.ZAdd(all, "z", redis.Z{Score: 1.5, Member: "m"})
		return nil
	})
	fmt.Println("transaction", commands, err)
	commands, err = client.Pipelined(all, func(pipe redis.Pipeliner) error {
		pipe.Get(all, "a")
		pipe.ZRangeWithScores(all, "z", 0, -1)
		return nil
	})
	fmt.Println("pipeline", commands, err)
	echoed := redis.NewScript("return {KEYS[1], ARGV[1]}")
	fmt.Println("script", echoed.Run(all, client, []string{"k"}, "a"), echoed.Run(all, client, []string{"k"}, "b"))
	fmt.Println("stream", client.XAdd(all, &redis.XAddArgs{Stream: "x", ID: "1-1", Values: []string{"f", "v"}}))
	fmt.Println("read", client.XRead(all, &redis.XReadArgs{Streams: []string{"x", "0"}, Block: -1}))
	fmt.Println("geo", client.GeoAdd(all, "g", &redis.GeoLocation{Name: "P", Longitude: 13.361389, Latitude: 38.115556}))
	fmt.Println("distance", client.GeoDist(all, "g", "P", "P", "km"))

	listener := client.Subscribe(all, "channel")
	defer listener.Close()
	for _, publish := range []bool{false, true} {
		if publish {
			fmt.Println("listeners", client.Publish(all, "channel", "text"))
		}
		message, err := listener.Receive(all)
		fmt.Println("message", message, err)
	}

	showCalls(all, client, options)
	trackKeys(all, client, options)

	var keys []string
	for scan := client.Scan(all, 0, "*", 0).Iterator(); scan.Next(all); {
		keys = append(keys, scan.Val())
	}
	sort.Strings(keys)
	fmt.Println("scan", keys)
	fmt.Println("flush", client.FlushAll(all))
}

// showCalls watches what another client sends, in RESP2: in RESP3, go-redis takes the lines of a monitor for a sign
// that its connection is broken.
func showCalls(all context.Context, client *redis.Client, options *redis.Options) {
	two := *options
	two.Protocol = 2
	// After a time limit a monitor of go-redis would hear nothing more.
	two.ReadTimeout = -1
	// A pool would close the connection of a monitor if something had come before it is given back.
	watching := redis.NewClient(&two).Conn()
	shown := make(chan string, 16)
	monitor := watching.Monitor(all, shown)
	monitor.Start()
	fmt.Println("monitor", <-shown)
	client.Set(all, "k", `a "b"`, 0)
	client.Get(all, "k")
	for calls := 0; calls < 2; {
		// Not what begins a connection.
		if _, call, _ := strings.Cut(<-shown, "] "); strings.Contains(call, `"k"`) {
			fmt.Println("call", call)
			calls++
		}
	}
	// It ends with the program: what would stop or close it waits for its reader, which waits for another call.
}

// trackKeys has a connection told, in RESP2's way, of the keys that another one has read.
func trackKeys(all context.Context, client *redis.Client, options *redis.Options) {
	two := *options
	two.Protocol, two.ClientName = 2, "told"
	tracking := redis.NewClient(&two)
	defer tracking.Close()
	told := tracking.Subscribe(all, "__redis__:invalidate")
	defer told.Close()
	subscribed, err := told.Receive(all)
	fmt.Println("subscribed", subscribed, err)
	id := regexp.MustCompile(`id=(\d+) .*name=told .*sub=1 `).FindStringSubmatch(client.ClientList(all).Val())[1]
	reader := tracking.Conn()
	defer reader.Close()
	fmt.Println("tracking", reader.Do(all, "CLIENT", "TRACKING", "ON", "REDIRECT", id, "NOLOOP").Err())
	fmt.Println("read", reader.MGet(all, "a", "b", "own"))
	reader.Set(all, "own", 1, 0)
	client.MSet(all, "a", 1, "b", 2, "c", 3)
	// Not of FLUSHALL: go-redis does not read a message without keys.
	for range 2 {
		message, err := told.ReceiveMessage(all)
		fmt.Println("told", message.Channel, message.PayloadSlice, err)
	}
}
