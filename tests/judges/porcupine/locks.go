package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Hold is how often a field of a lock is held, and in which mode.
type Hold struct {
	times int64
	mode  string
}

// lock is who holds it, by the names of fields: a writer of a read-write lock has a suffix.
type lock map[string]Hold

func (l lock) with(field string, hold Hold) lock {
	next := maps.Clone(l)
	if hold.times == 0 {
		delete(next, field)
	} else {
		next[field] = hold
	}
	return next
}

func bare(field string) string {
	return strings.TrimSuffix(field, ":write")
}

func (l lock) isHeldBy(owner string) bool {
	for field := range l {
		if bare(field) == bare(owner) {
			return true
		}
	}
	return false
}

// keepsOut says whether others hold the lock so that this owner cannot come to hold it in this mode.
func (l lock) keepsOut(owner, mode string) bool {
	for field, hold := range l {
		if bare(field) != bare(owner) && !(mode == "shared" && hold.mode == "shared") {
			return true
		}
	}
	return false
}

var lockModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{lock{}} },
	Step: func(state, input, output any) []any {
		before, line, out := state.(lock), input.(Line), output.(Output)
		switch out.Type {
		case "fail":
			return legalIf(lockRefused(before, line), before)
		case "":
			// It may have had no effect.
			return append(lockDone(before, line, false), before)
		}
		return lockDone(before, line, true)
	},
	Equal: func(one, other any) bool { return maps.Equal(one.(lock), other.(lock)) },
	DescribeState: func(state any) string {
		held := state.(lock)
		fields := slices.Sorted(maps.Keys(held))
		return fmt.Sprint(fields)
	},
}

// lockRefused says whether a lock in this state may refuse this.
func lockRefused(before lock, line Line) bool {
	owner := line.Value.Owner
	switch line.F {
	case "acquire", "convert":
		return before.keepsOut(owner, "exclusive") || line.Value.Cause == "error"
	case "release", "renew":
		_, holds := before[owner]
		return !holds
	}
	return true
}

// lockDone gives the states in which a lock may be after this has been done; none when it cannot be done.
func lockDone(before lock, line Line, isKnown bool) []any {
	value := line.Value
	hold := before[value.Owner]
	switch line.F {
	case "acquire", "acquired":
		// A field that was held with another mode before is another hold.
		hold = Hold{times: hold.times + 1, mode: value.Mode}
		if isKnown && value.Holds != nil && *value.Holds != hold.times {
			return nil
		}
		return legalIf(!before.keepsOut(value.Owner, value.Mode), before.with(value.Owner, hold))
	case "release", "released":
		left := int64(0)
		if value.Holds != nil {
			left = *value.Holds
		}
		next := before.with(value.Owner, Hold{times: left, mode: hold.mode})
		return legalIf(left < hold.times, next)
	case "lost", "transfer", "transferred":
		return legalIf(hold.times > 0, before.with(value.Owner, Hold{}))
	case "renew":
		return legalIf(hold.times > 0, before)
	case "convert", "converted":
		return lockConverted(before, value)
	}
	return []any{before}
}

func lockConverted(before lock, value Value) []any {
	for field, hold := range before {
		if bare(field) == bare(value.Owner) {
			next := before.with(field, Hold{}).with(value.Owner, Hold{times: hold.times, mode: value.Mode})
			return legalIf(!before.keepsOut(value.Owner, value.Mode), next)
		}
	}
	return nil
}

func legalIf(isLegal bool, next any) []any {
	if !isLegal {
		return nil
	}
	return []any{next}
}

// A section that clients declare is a lock that may be entered again by its owner, and left as often.
var sectionModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{lock{}} },
	Step: func(state, input, output any) []any {
		before, line := state.(lock), input.(Line)
		inside := before[line.Value.Owner].times
		if line.F == "enter" {
			next := before.with(line.Value.Owner, Hold{times: inside + 1})
			return legalIf(!before.keepsOut(line.Value.Owner, ""), next)
		}
		return legalIf(inside > 0, before.with(line.Value.Owner, Hold{times: inside - 1}))
	},
	Equal: func(one, other any) bool { return maps.Equal(one.(lock), other.(lock)) },
}
