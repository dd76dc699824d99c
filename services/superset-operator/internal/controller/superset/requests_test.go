package superset_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// requests records the requests of an operator, without watches and lists of caches.
type requests struct {
	// inFlight is held for reading by each request until its response is recorded. The effect of a request is
	// visible in the cluster before its response arrives, so readers of the counts wait for it.
	inFlight  sync.RWMutex
	mu        sync.Mutex
	completed []string
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		_, path, namespaced := strings.Cut(req.URL.Path, "/namespaces/")
		watching := req.URL.Query().Get("watch") != "" || req.Method == http.MethodGet && req.URL.Query().Has("limit")
		sendInitial := req.URL.Query().Has("sendInitialEvents")
		if !namespaced || watching || sendInitial {
			return next.RoundTrip(req)
		}
		r.inFlight.RLock()
		defer r.inFlight.RUnlock()
		resp, err := next.RoundTrip(req)
		if err == nil {
			r.mu.Lock()
			r.completed = append(r.completed, fmt.Sprintf("%s %s %d", req.Method, path, resp.StatusCode))
			r.mu.Unlock()
		}
		return resp, err
	})
}

func (r *requests) list() []string {
	r.inFlight.Lock()
	defer r.inFlight.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.completed...)
}

// matching counts the requests that match a pattern.
func (r *requests) matching(pattern string) int {
	n, regex := 0, regexp.MustCompile(pattern)
	for _, s := range r.list() {
		if regex.MatchString(s) {
			n++
		}
	}
	return n
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
