package lockwheel

import (
	"bufio"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// probeLimit is how long a server has to answer a probe, where another one can be asked. It doubles with each round.
const probeLimit = time.Second

// hangingShare is by what this limit is divided for a server that did not answer the last time.
const hangingShare = 10

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
	// The places of the servers that live and were passed over, since they did not answer or refused all.
	hanging map[int]bool
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
// that steers a topology is sent again to another server when the server that had it was killed before it answered, or
// refused all.
func (c *connection) do(arguments ...any) (any, error) {
	return c.doUntil(c.lives, c.isSteering, arguments)
}

// wait sends a request that only waits. In a topology it is sent again whenever its connection was cut.
func (c *connection) wait(arguments ...any) (any, error) {
	return c.doUntil(func(int) bool { return false }, c.isSteering, arguments)
}

// prepare opens a connection to a server that answers.
func (c *connection) prepare() error {
	_, err := c.doUntil(c.lives, true, []any{"PING"})
	return err
}

// doUntil sends a request again while the server that had it has not answered and isOver says no. In haste a server that
// refuses all is passed over.
func (c *connection) doUntil(isOver func(place int) bool, isHasty bool, arguments []any) (any, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	isHasty = isHasty && len(c.servers) > 1
	var refused []int
	var refusal error
	for {
		if err := c.open(isHasty, refused); err != nil {
			if refusal != nil {
				err = refusal
			}
			return nil, err
		}
		asked := c.link.place
		reply, err := c.exchange(arguments)
		if isHasty && isHanging(err) {
			// It has done nothing.
			refused = append(refused, asked)
			c.note(asked, true)
			if refusal == nil {
				refusal = err
			}
			continue
		}
		if err == nil || isRefusal(err) || !c.isSteering || len(c.servers) == 1 || isOver(asked) {
			return reply, err
		}
	}
}

// place is that of the server which answers.
func (c *connection) place() (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.open(c.isSteering && len(c.servers) > 1, nil); err != nil {
		return 0, err
	}
	return c.link.place, nil
}

// isHanging is whether a server lives and was passed over.
func (c *connection) isHanging(place int) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.hanging[place]
}

// open goes to the first server that lives, unless it is there already. When a topology seems to have none it looks again:
// a sentinel that promotes a replica may have cut the connection to that.
//
// In haste a server that hangs, or refuses all, is passed over when another one answers; if none does, the servers are
// asked again with twice the limit. After a refusal the others are asked once.
func (c *connection) open(isHasty bool, refused []int) error {
	var limit time.Duration
	if isHasty {
		limit = probeLimit
	}
	for turn := 0; ; turn++ {
		isLate, err := c.openOnce(limit, refused)
		if err == nil || isRefusal(err) || len(refused) > 0 || len(c.servers) == 1 || turn > 0 && !isLate {
			return err
		}
		limit *= 2
	}
}

// openOnce answers the first server's error when none lives, and whether one did not answer within the limit. A refusal,
// as of a password, is no death.
func (c *connection) openOnce(limit time.Duration, refused []int) (isLate bool, first error) {
	first = errors.New("every server has refused the request")
	isFirst := true
	var refusing *link
	for place := range c.servers {
		if slices.Contains(refused, place) {
			continue
		}
		found, err := c.reach(place, limit)
		if err == nil {
			if limit == 0 || !found.isRefusing {
				c.discard(refusing)
				c.use(found)
				return false, nil
			}
			if refusing == nil && len(refused) == 0 {
				refusing = found
			} else {
				c.discard(found)
			}
			continue
		}
		if isRefusal(err) {
			c.drop()
			return false, err
		}
		if isFirst {
			first, isFirst = err, false
		}
		isLate = isLate || isTimeout(err)
	}
	if refusing != nil {
		c.use(refusing)
		return false, nil
	}
	c.drop()
	return isLate, first
}

// reach is a link to a server that lives, and notes whether the server hangs.
func (c *connection) reach(place int, limit time.Duration) (*link, error) {
	if c.hanging[place] {
		limit /= hangingShare
	}
	found, err := c.probed(place, limit)
	c.note(place, isTimeout(err) || err == nil && found.isRefusing)
	return found, err
}

// note notes whether a server lives and is passed over.
func (c *connection) note(place int, isHanging bool) {
	if c.hanging == nil {
		c.hanging = map[int]bool{}
	}
	c.hanging[place] = isHanging
}

func (c *connection) probed(place int, limit time.Duration) (*link, error) {
	current := c.link
	if current == nil || current.place != place || current.isCut() {
		return c.dial(place, limit)
	}
	if len(c.servers) == 1 || limit == 0 && !c.isSteering {
		return current, nil
	}
	err := current.probe(c.exempt(), limit)
	if err == nil {
		return current, nil
	}
	c.drop()
	if isTimeout(err) {
		return nil, err
	}
	return c.dial(place, limit)
}

// dial connects and logs in. A server that was killed lets clients in and cuts them at once, so in a topology the server
// also has to answer, within a limit that is not 0.
func (c *connection) dial(place int, limit time.Duration) (*link, error) {
	server := c.servers[place]
	socket, err := server.dial(limit)
	if err != nil {
		return nil, err
	}
	opened := &link{place: place, socket: socket, reader: bufio.NewReader(socket)}
	if limit != 0 {
		socket.SetDeadline(time.Now().Add(limit))
		defer socket.SetDeadline(time.Time{})
	}
	if server.password != "" {
		if _, err := opened.exchange([]any{"AUTH", server.password}); err != nil {
			opened.close()
			return nil, err
		}
	}
	if c.isExempt || len(c.servers) > 1 {
		// A server that cannot be steered refuses it, and has no faults either.
		if err := opened.probe(c.exempt(), limit); err != nil {
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

// lives is whether a server of the topology answers, or hangs.
func (c *connection) lives(place int) bool {
	opened, err := c.dial(place, probeLimit)
	if err == nil {
		opened.close()
	}
	return err == nil || isRefusal(err) || isTimeout(err)
}

// isTimeout is whether an answer did not come within its limit.
func isTimeout(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
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

// use goes on with a link, and closes the one before.
func (c *connection) use(found *link) {
	if c.link != found {
		c.drop()
		c.link = found
	}
}

// discard closes a link that is not the one in use.
func (c *connection) discard(found *link) {
	if found != nil && found != c.link {
		found.close()
	}
}

func (c *connection) drop() {
	if c.link != nil {
		c.link.close()
		c.link = nil
	}
}
