package main

import "github.com/anishathalye/porcupine"

// semaphore is how many permits are left, and how many there are in all; of one that does not exist, none.
type semaphore struct {
	left, total int64
}

var semaphoreModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{semaphore{}} },
	Step: func(state, input, output any) []any {
		before, line, out := state.(semaphore), input.(Line), output.(Output)
		switch out.Type {
		case "fail":
			return []any{before}
		case "":
			return append(semaphoreDone(before, line, false), before)
		}
		return semaphoreDone(before, line, true)
	},
}

// semaphoreDone gives the state of a semaphore after this has been done; none when it cannot be done.
func semaphoreDone(before semaphore, line Line, isKnown bool) []any {
	value, after := line.Value, before
	permits := int64(0)
	if value.Permits != nil {
		permits = *value.Permits
	}
	what := line.F
	if what == "permits" {
		what = value.Cause
	}
	isLegal := true
	switch what {
	case "init":
		after = semaphore{left: permits, total: permits}
	case "adjust":
		after = semaphore{left: before.left + permits, total: before.total + permits}
	case "acquire":
		after.left -= permits
		isLegal = after.left >= 0
	case "drain":
		after.left = 0
		isLegal = permits == before.left
	case "release", "expired", "disconnected":
		// What leases give back ends the semaphore, when nothing is left to be told of.
		if value.Left == nil {
			return []any{semaphore{}}
		}
		after.left += permits
		isLegal = after.left <= after.total
	default:
		// The key is gone, or holds something else.
		if value.Left == nil {
			return []any{semaphore{}}
		}
		isLegal = false
	}
	if isKnown && value.Left != nil {
		isLegal = isLegal && after.left == *value.Left
	}
	return legalIf(isLegal, after)
}
