package gateway

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Lookup finds the addresses of a name.
type Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

// clusters are the engines that were asked for so far, by authority.
type clusters struct {
	ctx    context.Context //nolint:containedctx // of the process: engines are watched beyond the request that names them
	hosts  Hosts
	lookup Lookup
	client *http.Client
	logf   func(string, ...any)

	mu  sync.Mutex
	all map[string]*cluster
}

func newClusters(ctx context.Context, h Hosts, lookup Lookup, logf func(string, ...any)) *clusters {
	return &clusters{ctx: ctx, hosts: h, lookup: lookup, logf: logf, client: &http.Client{Transport: transport(h)}, all: map[string]*cluster{}}
}

// transport makes a connection for each request.
func transport(h Hosts) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: (&net.Dialer{Timeout: h.Connect}).DialContext}
}

// of returns the engine of an authority, and begins to watch one that is new.
func (c *clusters) of(authority string) *cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.all[authority]; ok {
		return found
	}
	made := &cluster{known: make(chan struct{}), healthy: map[string]bool{}}
	c.all[authority] = made
	go c.watch(authority, made)
	return made
}

// watch keeps the addresses of an engine and their health up to date.
func (c *clusters) watch(authority string, of *cluster) {
	host, port, err := net.SplitHostPort(authority)
	if err != nil {
		c.logf("engine %s: %v", authority, err)
		return
	}
	tick := time.NewTicker(min(c.hosts.Refresh, c.hosts.Interval))
	defer tick.Stop()
	for said := ""; ; {
		addresses, err := c.lookup(c.ctx, "ip4", host)
		if text := fmt.Sprint(addresses, err); text != said {
			said = text
			c.logf("engine %s: %v %v", authority, addresses, err)
		}
		if err == nil || notFound(err) {
			of.update(c.probe(addresses, port))
		}
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return
		}
	}
}

func notFound(err error) bool {
	dns, ok := err.(*net.DNSError) //nolint:errorlint // the resolver does not wrap it
	return ok && dns.IsNotFound
}

// probe asks each address whether it can take a query.
func (c *clusters) probe(addresses []netip.Addr, port string) map[string]bool {
	var mu sync.Mutex
	var asked sync.WaitGroup
	out := map[string]bool{}
	for _, a := range addresses {
		asked.Go(func() {
			host := net.JoinHostPort(a.String(), port)
			ok := c.ready(host)
			mu.Lock()
			defer mu.Unlock()
			out[host] = ok
		})
	}
	asked.Wait()
	return out
}

func (c *clusters) ready(host string) bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.hosts.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+c.hosts.HealthPath, nil)
	if err != nil {
		return false
	}
	r.Host = c.hosts.HealthHost
	answer, err := c.client.Do(r)
	if err != nil {
		return false
	}
	answer.Body.Close() // only the status counts
	return answer.StatusCode == http.StatusOK
}

// cluster is one engine.
type cluster struct {
	mu      sync.Mutex
	healthy map[string]bool // by host:port
	turn    int
	known   chan struct{} // closed when addresses were found for the first time
}

func (c *cluster) update(hosts map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.healthy = hosts
	if len(hosts) > 0 {
		select {
		case <-c.known:
		default:
			close(c.known)
		}
	}
}

// pick takes the next host in turn, and another one than those before if a few attempts find it. When less than half
// are healthy all count: Envoy's panic mode.
func (c *cluster) pick(attempts int, before map[string]bool) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Sorted(maps.Keys(c.healthy))
	good := slices.DeleteFunc(slices.Clone(all), func(h string) bool { return !c.healthy[h] })
	if 2*len(good) < len(all) {
		good = all
	}
	if len(good) == 0 {
		return "", false
	}
	for range attempts {
		c.turn++
		if host := good[c.turn%len(good)]; !before[host] {
			return host, true
		}
	}
	c.turn++
	return good[c.turn%len(good)], true
}
