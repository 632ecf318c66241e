//go:build unix

package lockwheel

import (
	"crypto/tls"
	"net"
	"syscall"
)

// isCut says whether the other side has ended a connection on which nothing is awaited. Over TLS what has come is only
// then an end when it is one of the connection below.
func isCut(socket net.Conn) bool {
	if over, ok := socket.(*tls.Conn); ok {
		socket = over.NetConn()
	}
	below, ok := socket.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := below.SyscallConn()
	if err != nil {
		return true
	}
	cut := false
	err = raw.Read(func(descriptor uintptr) bool {
		var next [1]byte
		count, _, err := syscall.Recvfrom(int(descriptor), next[:], syscall.MSG_PEEK)
		cut = count == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
		return true
	})
	return cut || err != nil
}
