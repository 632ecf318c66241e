package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

// shapes has clients of clusters and of masters that sentinels name: `main (cluster | sentinel) PORT...` sets and gets
// what each line of its input says, and answers with a line.
func shapes(shape string, ports []string) {
	var nodes []string
	for _, port := range ports {
		nodes = append(nodes, "127.0.0.1:"+port)
	}
	var client redis.UniversalClient
	if shape == "cluster" {
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes})
	} else {
		client = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: nodes})
	}
	all := context.Background()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		var reply string
		var err error
		if words[0] == "set" {
			reply, err = client.Set(all, words[1], words[2], 0).Result()
		} else {
			reply, err = client.Get(all, words[1]).Result()
		}
		switch {
		case err == redis.Nil:
			reply = "nothing"
		case err != nil:
			reply = "failed " + strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Println(reply)
	}
}
