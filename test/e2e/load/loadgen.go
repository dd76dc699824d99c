package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Config is the configuration of a load generator.
type Config struct {
	Request
	Clients int
	// Rate is the number of requests per second of all clients together. A client waits for an answer before its next
	// request, so slow answers reduce the rate.
	Rate float64
}

// Validate returns the first violation of a configuration.
func (c Config) Validate() error {
	switch {
	case c.Clients < 1:
		return errors.New("there must be at least one client")
	case c.Rate <= 0:
		return errors.New("the rate must be greater than zero")
	}
	return c.Request.Validate()
}

// Ask sends requests until ctx ends. It does not count the requests that are in flight then. Half of the clients use a new
// connection for each request, the others keep theirs.
func Ask(ctx context.Context, c Config, recorder *Recorder) {
	var all sync.WaitGroup
	interval := time.Duration(float64(time.Second) * float64(c.Clients) / c.Rate)
	for i := range c.Clients {
		one := newClient(c.Request, i%2 == 0)
		one.name = fmt.Sprint(i)
		one.turn = i // clients send different bodies at the same time
		// Stagger the clients, so they do not send at the same time.
		start := time.NewTimer(interval * time.Duration(i) / time.Duration(c.Clients))
		all.Go(func() {
			defer start.Stop()
			defer one.http.CloseIdleConnections()
			one.loop(ctx, start.C, interval, recorder)
		})
	}
	all.Wait()
}

func (c *client) loop(ctx context.Context, start <-chan time.Time, interval time.Duration, recorder *Recorder) {
	select {
	case <-ctx.Done():
		return
	case <-start:
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	if err := c.login(ctx); err != nil && ctx.Err() == nil {
		recorder.Add(Outcome{Class: NoLogin, Detail: err.Error()})
	}
	for {
		if o := c.do(ctx); ctx.Err() == nil {
			recorder.Add(o)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
