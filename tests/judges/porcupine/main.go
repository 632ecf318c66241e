// Judges a history of operations on locks and semaphores, which comes in as JSON, an operation a line: whether each
// lock and each semaphore behaved as one does that is used by one client after the other.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/anishathalye/porcupine"
)

// Line is an event of the history.
type Line struct {
	Index   int64  `json:"index"`
	Process any    `json:"process"`
	Type    string `json:"type"`
	F       string `json:"f"`
	Value   Value  `json:"value"`
}

// Value is what an operation is about, and what came of it.
type Value struct {
	Key     string `json:"key"`
	Owner   string `json:"owner"`
	Mode    string `json:"mode"`
	Cause   string `json:"cause"`
	Holds   *int64 `json:"holds"`
	Permits *int64 `json:"permits"`
	Left    *int64 `json:"left"`
}

// Output is how an operation ended: "ok", "fail", or "" when nobody knows.
type Output struct {
	Type  string
	Value Value
}

const nemesis = "nemesis"

func main() {
	lines, err := read()
	if err != nil {
		fmt.Println("malformed:", err)
		os.Exit(2)
	}
	operations, err := pair(lines)
	if err != nil {
		fmt.Println("malformed:", err)
		os.Exit(2)
	}
	judge := map[string]porcupine.NondeterministicModel{
		"locks":      lockModel,
		"sections":   sectionModel,
		"semaphores": semaphoreModel,
	}
	for _, kind := range []string{"locks", "sections", "semaphores"} {
		mine := operations[kind]
		verdict := "legal"
		model := judge[kind]
		for _, part := range byKey(mine) {
			if !porcupine.CheckOperations(model.ToModel(), part) {
				verdict = "illegal"
				fmt.Fprintln(os.Stderr, kind, part[0].Input.(Line).Value.Key, "is illegal")
			}
		}
		fmt.Printf("%s %d %s\n", kind, len(mine), verdict)
	}
}

func read() ([]Line, error) {
	var lines []Line
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var line Line
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, scanner.Err()
}

// semaphoresOf gives the keys that permits have been told of.
func semaphoresOf(lines []Line) map[string]bool {
	keys := map[string]bool{}
	for _, line := range lines {
		if line.Value.Permits != nil {
			keys[line.Value.Key] = true
		}
	}
	return keys
}

// kindOf says which model an event belongs to; "" when to none.
func kindOf(line Line, semaphores map[string]bool) string {
	switch line.F {
	case "enter", "leave":
		return "sections"
	case "init", "adjust", "drain", "permits":
		return "semaphores"
	case "acquire", "release":
		if semaphores[line.Value.Key] {
			return "semaphores"
		}
		return "locks"
	case "renew", "convert", "transfer":
		return "locks"
	case "acquired", "lost", "released", "transferred", "converted":
		return "locks"
	}
	return ""
}

// pair makes operations of events: each has an invocation and its end, but for what nobody has asked for, which is
// both. What has no end that is known may have had its effect at any time after, or none.
func pair(lines []Line) (map[string][]porcupine.Operation, error) {
	operations := map[string][]porcupine.Operation{}
	pending := map[any]Line{}
	ended := map[any]bool{}
	last, semaphores := int64(len(lines))*2+1, semaphoresOf(lines)
	add := func(line Line, call int64, output Output, end int64) {
		if kind := kindOf(line, semaphores); kind != "" {
			operation := porcupine.Operation{Input: line, Call: call, Output: output, Return: end}
			operations[kind] = append(operations[kind], operation)
		}
	}
	for _, line := range lines {
		at := line.Index * 2
		if line.Process == nemesis {
			add(line, at, Output{Type: "ok", Value: line.Value}, at+1)
			continue
		}
		invoked, isPending := pending[line.Process]
		if line.Type == "invoke" {
			if isPending || ended[line.Process] {
				return nil, fmt.Errorf("process %v invokes %d before its last has ended", line.Process, line.Index)
			}
			pending[line.Process] = line
			continue
		}
		if !isPending || invoked.F != line.F {
			return nil, fmt.Errorf("nobody has invoked %d", line.Index)
		}
		delete(pending, line.Process)
		input := invoked
		input.Value = line.Value
		if line.Type == "info" {
			ended[line.Process] = true
			add(input, invoked.Index*2, Output{Value: line.Value}, last)
		} else {
			add(input, invoked.Index*2, Output{Type: line.Type, Value: line.Value}, at)
		}
	}
	for _, line := range lines {
		if waiting, ok := pending[line.Process]; ok && waiting.Index == line.Index {
			add(line, line.Index*2, Output{Value: line.Value}, last)
		}
	}
	return operations, nil
}

// byKey parts operations by what they are on, in the order in which that comes first.
func byKey(operations []porcupine.Operation) [][]porcupine.Operation {
	var keys []string
	parts := map[string][]porcupine.Operation{}
	for _, operation := range operations {
		key := operation.Input.(Line).Value.Key
		if _, known := parts[key]; !known {
			keys = append(keys, key)
		}
		parts[key] = append(parts[key], operation)
	}
	var all [][]porcupine.Operation
	for _, key := range keys {
		all = append(all, parts[key])
	}
	return all
}
