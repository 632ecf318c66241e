package lockwheel

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// name is what the server's program is called.
const name = "lockwheel"

// variable names the environment variable that says where the program is.
const variable = "LOCKWHEEL_BINARY"

// ErrNoBinary is what [Start] answers when there is no program to start.
var ErrNoBinary = errors.New("no lockwheel program: set LOCKWHEEL_BINARY, put it beside the test binary or on PATH, " +
	"or install it by `cargo install lockwheel`; there are ready ones for linux x86_64 (glibc or musl)")

// binary finds the program: what the options say, then the environment, then beside this one, then PATH.
func binary(wanted string) (string, error) {
	if wanted != "" {
		return wanted, nil
	}
	if told := os.Getenv(variable); told != "" {
		return told, nil
	}
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	return "", ErrNoBinary
}
