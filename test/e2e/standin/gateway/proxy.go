package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	healthPath  = "/healthz"
	metricsPath = "/stats/prometheus"
	// initTimeout is how long the first query for an engine waits for addresses.
	initTimeout = 5 * time.Second
)

// proxy sends queries to the engines that they name.
type proxy struct {
	config    Config
	script    *script
	clusters  *clusters
	transport http.RoundTripper
	logf      func(string, ...any)

	failing                     atomic.Bool // its own health check
	queries, retries, unhealthy atomic.Int64
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.failing.Load() {
		w.Header().Set("Connection", "close")
	}
	if r.URL.Path == healthPath && r.URL.RawQuery == "" {
		p.health(w, r)
		return
	}
	p.queries.Add(1)
	d, err := p.script.decide(r)
	if err != nil {
		p.logf("%v", err)
	}
	if d.status != "" {
		w.Header().Set("Content-Type", d.kind)
		code, err := strconv.Atoi(d.status)
		if err != nil {
			code = http.StatusInternalServerError
		}
		w.WriteHeader(code)
		fmt.Fprint(w, d.body)
		return
	}
	if !p.config.routed(d.authority) {
		http.NotFound(w, r)
		return
	}
	p.forward(w, r, d)
}

func (p *proxy) health(w http.ResponseWriter, _ *http.Request) {
	if p.failing.Load() {
		http.Error(w, "failing", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "OK")
}

// forward asks pods of the engine until one of them answers.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request, d decision) {
	engine := p.clusters.of(d.authority)
	wait(r.Context(), engine.known, initTimeout)
	body, tries, err := p.body(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	before := map[string]bool{}
	for try := 0; ; try++ {
		answer, err := p.ask(r, d, engine, before, body())
		// An engine without addresses is no failed connection: Envoy does not try again either.
		last := try >= tries || errors.Is(err, errNoHost) || r.Context().Err() != nil
		if err == nil && (last || !p.refused(answer)) {
			p.answer(w, answer)
			return
		}
		if err == nil {
			answer.Body.Close() // the next pod's counts
		} else if last {
			p.unhealthy.Add(1)
			http.Error(w, "upstream: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		p.retries.Add(1)
		pause := min(p.config.Retry.Max, p.config.Retry.Base<<min(try, 8))
		wait(r.Context(), nil, rand.N(pause+1)) //nolint:gosec // jitter
	}
}

// body returns what makes the body anew for each try, and how often it can be sent again.
func (p *proxy) body(r *http.Request) (func() io.Reader, int, error) {
	limit := p.config.Retry.MaxBody
	text, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the query: %w", err)
	}
	if len(text) > limit {
		return func() io.Reader { return io.MultiReader(bytes.NewReader(text), r.Body) }, 0, nil
	}
	return func() io.Reader { return bytes.NewReader(text) }, p.config.Retry.Times, nil
}

var errNoHost = errors.New("no healthy upstream")

func (p *proxy) ask(r *http.Request, d decision, engine *cluster, before map[string]bool, body io.Reader) (*http.Response, error) {
	host, ok := engine.pick(max(1, p.config.Retry.Attempts), before)
	if !ok {
		return nil, errNoHost
	}
	before[host] = true
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+host+d.path, body)
	if err != nil {
		return nil, err
	}
	out.Host, out.Header = d.authority, r.Header.Clone()
	for _, name := range append(d.removed, "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade") {
		out.Header.Del(name)
	}
	return p.transport.RoundTrip(out)
}

// refused says whether an answer asks for another pod.
func (p *proxy) refused(answer *http.Response) bool {
	for _, name := range p.config.Retry.Headers {
		if len(answer.Header.Values(name)) > 0 {
			return true
		}
	}
	return false
}

// answer hands an answer on. One that breaks off breaks the client's connection.
func (p *proxy) answer(w http.ResponseWriter, answer *http.Response) {
	defer answer.Body.Close()
	answer.Header.Del("Connection")
	maps.Copy(w.Header(), answer.Header)
	if p.failing.Load() {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(answer.StatusCode)
	if err := http.NewResponseController(w).Flush(); err != nil { // the client sees that its query was taken
		p.logf("answer: %v", err)
	}
	if _, err := io.Copy(w, answer.Body); err != nil {
		p.logf("answer: %v", err)
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close() //nolint:errcheck // that it is broken off is the point
		}
	}
}

// wait returns when done is closed, the time is over, or nobody waits for an answer any more.
func wait(ctx context.Context, done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}
