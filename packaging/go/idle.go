package lockwheel

import (
	"sync"
)

// prepared is how many connections are ready for waits when no new ones are let in.
const prepared = 4

// idleConnections are those on which nobody waits.
type idleConnections struct {
	open  func() *connection
	mutex sync.Mutex
	idle  []*connection
}

func (c *idleConnections) take() *connection {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return c.open()
	}
	taken := c.idle[last]
	c.idle = c.idle[:last]
	return taken
}

func (c *idleConnections) give(connection *connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.idle = append(c.idle, connection)
}

func (c *idleConnections) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, connection := range c.idle {
		connection.close()
	}
	c.idle = nil
}

// prepare opens connections that stay: after a partition or a restart the server lets no new ones in.
func (s *Server) prepare() {
	s.test.Helper()
	ready := []*connection{s.commands}
	for len(ready) <= prepared {
		waits := s.waits.take()
		defer s.waits.give(waits)
		ready = append(ready, waits)
	}
	for _, connection := range ready {
		if err := connection.prepare(); err != nil {
			s.fail("%v", err)
		}
	}
}
