// Package lockwheel runs a Lockwheel server for tests: an in-memory, Redis-compatible server whose clock a test
// advances.
//
//	server := lockwheel.Run(t)                          // a server for this test alone
//	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
//	server.Clock.Advance(30 * time.Second)              // leases end, no sleep
//
// [Shared] gives the tests of one binary one server, reset before each of them. When a test fails, the clock, the seed,
// the clients that waited and the last commands are in its log.
//
// The server is a program. It is found by [Options.Binary], by the environment variable LOCKWHEEL_BINARY, beside the
// test binary, beside the package's sources, or on PATH.
package lockwheel
