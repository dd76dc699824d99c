package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Connections is how clients connect.
type Connections string

// Ways to connect: a new connection for each request, one kept for all, or every other client each way.
const (
	Fresh Connections = "fresh"
	Kept  Connections = "kept"
	Both  Connections = "both"
)

// Config of a load generator.
type Config struct {
	Request
	Clients int
	// Rate is the number of requests a second that all clients begin together. A client waits for its answer
	// before it asks again, so slow answers make it less.
	Rate        float64
	Connections Connections
}

// Validate returns the first violation of a configuration.
func (c Config) Validate() error {
	switch {
	case c.Clients < 1:
		return errors.New("there must be at least one client")
	case c.Rate <= 0:
		return errors.New("the rate must be greater than zero")
	case c.Connections != Fresh && c.Connections != Kept && c.Connections != Both:
		return fmt.Errorf("connections %q: want fresh, kept or both", c.Connections)
	}
	return c.Request.Validate()
}

// Ask asks until ctx ends. What is under way then is not counted.
func Ask(ctx context.Context, c Config, recorder *Recorder) {
	var all sync.WaitGroup
	interval := time.Duration(float64(time.Second) * float64(c.Clients) / c.Rate)
	for i := range c.Clients {
		fresh := c.Connections == Fresh || c.Connections == Both && i%2 == 0
		one := newClient(c.Request, fresh)
		one.name = fmt.Sprint(i)
		one.turn = i // so that not all send the same body at the same time
		// Clients begin one after the other, so that they do not ask in step.
		begin := time.NewTimer(interval * time.Duration(i) / time.Duration(c.Clients))
		all.Go(func() {
			defer begin.Stop()
			defer one.http.CloseIdleConnections()
			one.loop(ctx, begin.C, interval, recorder)
		})
	}
	all.Wait()
}

func (c *client) loop(ctx context.Context, begin <-chan time.Time, interval time.Duration, recorder *Recorder) {
	select {
	case <-ctx.Done():
		return
	case <-begin:
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	if err := c.login(ctx); err != nil && ctx.Err() == nil {
		recorder.Add(Outcome{Class: NoLogin, Detail: err.Error()})
	}
	for {
		if o := c.ask(ctx); ctx.Err() == nil {
			recorder.Add(o)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
