package lockwheel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// name is what the server's program is called.
const name = "lockwheel"

// variable names the environment variable that says where the program is.
const variable = "LOCKWHEEL_BINARY"

// ErrNoBinary is what [Start] answers when there is no program to start.
var ErrNoBinary = errors.New("no lockwheel program: name it in LOCKWHEEL_BINARY, or put it on PATH or beside the test " +
	"binary; in a checkout of Lockwheel `cargo install --locked --path server/program` puts one on PATH")

// binary finds the program: what the options say, then the environment, then beside this one, then beside the
// package's sources, where packaging/build puts it, then PATH.
func binary(wanted string) (string, error) {
	if wanted != "" {
		return wanted, nil
	}
	if told := os.Getenv(variable); told != "" {
		return named(told)
	}
	own, _ := os.Executable()
	_, source, _, _ := runtime.Caller(0)
	for _, neighbour := range []string{own, source} {
		beside := filepath.Join(filepath.Dir(neighbour), name)
		if info, err := os.Stat(beside); filepath.IsAbs(beside) && err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	return "", ErrNoBinary
}

// named is the program that the environment names. Tests run in the folder of their package: a path that begins
// elsewhere leads nowhere there.
func named(path string) (string, error) {
	if found, err := exec.LookPath(path); err == nil && filepath.Base(path) == path {
		return found, nil
	}
	whole, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(whole)
	}
	if err != nil {
		return "", fmt.Errorf("%s is %q: %w", variable, path, err)
	}
	return whole, nil
}
