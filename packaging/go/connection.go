package lockwheel

import (
	"bufio"
	"sync"
)

// connection speaks RESP2 with the server, one request after the other. In a topology that is the first server that
// lives. It may be used by several goroutines.
type connection struct {
	servers []*access // by their places
	// Whether its requests steer: in a topology the server has to answer something before each of them. A sentinel that
	// promotes a replica cuts the replica's clients, and the end of a connection may come after the next request.
	isSteering bool
	mutex      sync.Mutex
	link       *link // nil: none is open
	isExempt   bool  // whether rules for faults leave out what it sends
}

func newConnection(servers ...*access) *connection {
	return &connection{servers: servers, isExempt: true}
}

// setExempt says whether rules for faults leave out what it sends from now on.
func (c *connection) setExempt(isExempt bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.isExempt != isExempt {
		c.isExempt = isExempt
		c.drop()
	}
}

// do sends a request and reads its reply: nil, int64, string or []any. What the server refuses is an [Error]. A request
// that steers a topology is sent again to another server when the server that had it was killed before it answered.
func (c *connection) do(arguments ...any) (any, error) {
	return c.doUntil(c.lives, arguments)
}

// wait sends a request that only waits. In a topology it is sent again whenever its connection was cut.
func (c *connection) wait(arguments ...any) (any, error) {
	return c.doUntil(func(int) bool { return false }, arguments)
}

// doUntil sends a request again while the server that had it has not answered and isOver says no.
func (c *connection) doUntil(isOver func(place int) bool, arguments []any) (any, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for {
		if err := c.open(); err != nil {
			return nil, err
		}
		asked := c.link.place
		reply, err := c.exchange(arguments)
		if err == nil || isRefusal(err) || !c.isSteering || len(c.servers) == 1 || isOver(asked) {
			return reply, err
		}
	}
}

// place is that of the server which answers.
func (c *connection) place() (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.open(); err != nil {
		return 0, err
	}
	return c.link.place, nil
}

// open goes to the first server that lives, unless it is there already. When a topology seems to have none it looks again:
// a sentinel that promotes a replica may have cut the connection to that.
func (c *connection) open() error {
	err := c.openOnce()
	if err != nil && !isRefusal(err) && len(c.servers) > 1 {
		err = c.openOnce()
	}
	return err
}

// openOnce answers the first server's error when none lives. A refusal, as of a password, is no death.
func (c *connection) openOnce() error {
	var first error
	for place := range c.servers {
		if c.isOpenTo(place) {
			return nil
		}
		opened, err := c.dial(place)
		if err == nil {
			c.drop()
			c.link = opened
			return nil
		}
		if isRefusal(err) {
			c.drop()
			return err
		}
		if first == nil {
			first = err
		}
	}
	c.drop()
	return first
}

func (c *connection) isOpenTo(place int) bool {
	if c.link == nil || c.link.place != place || c.link.isCut() {
		return false
	}
	if !c.isSteering || len(c.servers) == 1 {
		return true
	}
	_, err := c.link.exchange(c.exempt())
	return err == nil || isRefusal(err)
}

// dial connects and logs in. A server that was killed lets clients in and cuts them at once, so in a topology the server
// also has to answer.
func (c *connection) dial(place int) (*link, error) {
	server := c.servers[place]
	socket, err := server.dial()
	if err != nil {
		return nil, err
	}
	opened := &link{place, socket, bufio.NewReader(socket)}
	if server.password != "" {
		if _, err := opened.exchange([]any{"AUTH", server.password}); err != nil {
			opened.close()
			return nil, err
		}
	}
	if c.isExempt || len(c.servers) > 1 {
		// A server that cannot be steered refuses it, and has no faults either.
		if _, err := opened.exchange(c.exempt()); err != nil && (!isRefusal(err) || isShutOut(err)) {
			opened.close()
			return nil, err
		}
	}
	return opened, nil
}

func (c *connection) exempt() []any {
	if c.isExempt {
		return []any{"FAULT.EXEMPT", "ON"}
	}
	return []any{"FAULT.EXEMPT", "OFF"}
}

// lives is whether a server of the topology answers.
func (c *connection) lives(place int) bool {
	opened, err := c.dial(place)
	if err == nil {
		opened.close()
	}
	return err == nil || isRefusal(err)
}

func (c *connection) exchange(arguments []any) (any, error) {
	reply, err := c.link.exchange(arguments)
	if err != nil && !isRefusal(err) {
		c.drop()
	}
	return reply, err
}

// close ends the connection; the next request opens another.
func (c *connection) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.drop()
}

// leave closes the connection to a server that was killed: the end may not have come yet. A connection that waits for a
// reply notices the end by itself.
func (c *connection) leave(place int) {
	if !c.mutex.TryLock() {
		return
	}
	defer c.mutex.Unlock()
	if c.link != nil && c.link.place == place {
		c.drop()
	}
}

func (c *connection) drop() {
	if c.link != nil {
		c.link.close()
		c.link = nil
	}
}
