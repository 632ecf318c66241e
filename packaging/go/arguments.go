package lockwheel

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The addresses of the loopback interface.
const (
	loopback  = "127.0.0.1"
	loopback6 = "::1"
)

// own are the parameters that this package sets.
var own = []string{
	"port", "bind", "time", "seed", "loglevel", "lock-history", "slowlog-log-slower-than", "slowlog-max-len",
}

// arguments are the words of a command line, read as the server reads them.
type arguments struct {
	leading    []string   // the words before the first parameter: a configuration file
	parameters []string   // the words behind leading
	read       [][]string // each parameter: its name, then its values
}

func readArguments(words []string) arguments {
	var read arguments
	isValue := false
	for n, word := range words {
		if name, ok := strings.CutPrefix(word, "--"); ok && !isValue {
			parameter := splitWords(name)
			isValue = len(parameter) == 1 && !isComplete(parameter[0], words[n+1:])
			read.read = append(read.read, parameter)
			continue
		}
		isValue = false
		if last := len(read.read) - 1; last >= 0 {
			read.read[last] = append(read.read[last], word)
		} else {
			read.leading = append(read.leading, word)
		}
	}
	read.parameters = words[len(read.leading):]
	return read
}

// isComplete is whether a parameter has no value where another parameter follows.
func isComplete(name string, rest []string) bool {
	return slices.Contains([]string{"save", "sentinel", "exit-with-parent"}, strings.ToLower(name)) &&
		(len(rest) == 0 || strings.HasPrefix(rest[0], "--"))
}

// values are those of a parameter, where it stands last; nil if it is not there.
func (a arguments) values(name string) []string {
	for n := len(a.read) - 1; n >= 0; n-- {
		if strings.EqualFold(a.read[n][0], name) {
			return a.read[n][1:]
		}
	}
	return nil
}

// value is the value of a parameter; empty if it is not there.
func (a arguments) value(name string) string {
	if values := a.values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// has is whether a parameter is there.
func (a arguments) has(name string) bool {
	return slices.ContainsFunc(a.read, func(parameter []string) bool { return strings.EqualFold(parameter[0], name) })
}

// isOverTLS is whether the server is to listen for clients over TLS.
func (a arguments) isOverTLS() bool { return a.has("tls-port") || a.has("tls-port-file") }

// wordAhead is the first word of a line, which may end with a part in quotes.
var wordAhead = regexp.MustCompile(`^([^ \t\n\r"']*)(?:"((?:\\(?s:.)|[^"\\])*)"|'((?:\\'|[^'])*)')?(?:[ \t\n\v\f\r]+|$)`)

// escape is a letter within quotes that stands for another.
var escape = regexp.MustCompile(`\\(?:x[0-9a-fA-F]{2}|(?s:.))`)

// splitWords are the words of a line, unquoted; the line itself where its quotes have no end, which the server refuses.
func splitWords(line string) []string {
	var words []string
	for rest := strings.TrimLeft(line, " \t\n\v\f\r"); rest != ""; {
		found := wordAhead.FindStringSubmatch(rest)
		if found == nil {
			return []string{line}
		}
		double := escape.ReplaceAllStringFunc(found[2], unescaped)
		words = append(words, found[1]+double+strings.ReplaceAll(found[3], `\'`, `'`))
		rest = rest[len(found[0]):]
	}
	if words == nil {
		return []string{""}
	}
	return words
}

// unescaped is what an escape stands for.
func unescaped(escape string) string {
	if len(escape) == 4 && escape[1] == 'x' {
		if code, err := strconv.ParseUint(escape[2:], 16, 8); err == nil {
			return string([]byte{byte(code)})
		}
	}
	if known := strings.IndexByte("nrtba", escape[1]); known >= 0 {
		return "\n\r\t\b\a"[known : known+1]
	}
	return escape[1:]
}

// hostOf is the address to connect to of a server that listens on these: a loopback address if it is among them.
func hostOf(bound ...string) string {
	var addresses []string
	for _, words := range bound {
		for _, word := range strings.Fields(words) {
			addresses = append(addresses, strings.TrimPrefix(word, "-"))
		}
	}
	isAny := func(known ...string) bool {
		return slices.ContainsFunc(addresses, func(address string) bool { return slices.Contains(known, address) })
	}
	switch {
	case len(addresses) == 0 || isAny(loopback, "0.0.0.0", "*"):
		return loopback
	case isAny(loopback6, "::", "::*"):
		return loopback6
	}
	return addresses[0]
}
