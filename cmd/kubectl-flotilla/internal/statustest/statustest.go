// Package statustest provides a fake server of the status API for tests: it returns the resources and events of a test in the
// format of libs/contract/statusapi, and accepts a single token.
package statustest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// Token is the token that the server accepts.
const Token = "a-token-of-the-tests"

// Page is the content at the root.
const Page = "<!DOCTYPE html><title>Fleet</title>"

// Server is a fake status API.
type Server struct {
	*httptest.Server
	// ValidToken reports whether a token is valid; by default only [Token] is. Set it before the first request.
	ValidToken func(token string) bool

	mu             sync.Mutex
	details        []statusapi.ResourceDetail
	pageSize       int
	events         []Event
	first          uint64 // sequence of the oldest event that the server still has
	changed        chan struct{}
	disconnect     chan struct{} // closed to break the streams
	requests       []http.Request
	failure        *statusapi.Error
	status         int
	busUnavailable bool
	replayHeld     bool
}

// BusUnavailable is the aggregator's message for a resource whose history cannot be read.
const BusUnavailable = "observation and history may be missing: the bus does not respond"

// Event is one entry of the stream.
type Event struct {
	Sequence uint64
	Time     time.Time
	contract.Lifecycle
}

// Start starts a server that stops with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := New()
	s.Server = httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Disconnect()
		s.Close()
	})
	return s
}

// New returns a server that is not started.
func New() *Server {
	return &Server{ValidToken: func(token string) bool { return token == Token }, pageSize: 500, first: 1, changed: make(chan struct{}), disconnect: make(chan struct{})}
}

// Handler returns the HTTP handler, for use in other servers.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statusapi.PathResources, s.authenticated(s.list))
	mux.HandleFunc("GET "+statusapi.PathResource, s.authenticated(s.detail))
	mux.HandleFunc("GET "+statusapi.PathEvents, s.authenticated(s.stream))
	mux.HandleFunc("GET "+statusapi.PathPage, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		fmt.Fprint(w, Page)
	})
	return mux
}

// Add adds resources; pageSize is the number of resources per page of a list.
func (s *Server) Add(pageSize int, details ...statusapi.ResourceDetail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize, s.details = pageSize, append(s.details, details...)
}

// Publish adds events to the stream, and to the history of their resource.
func (s *Server) Publish(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Expire drops the events before a sequence.
func (s *Server) Expire(first uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
}

// Disconnect breaks the open streams.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.disconnect)
	s.disconnect = make(chan struct{})
}

// Fail makes every request fail with an error; status 0 resets this.
func (s *Server) Fail(status int, code, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.failure = status, &statusapi.Error{Code: code, Message: message}
}

// DisconnectBus makes the server respond like an aggregator without NATS: resources without history.
func (s *Server) DisconnectBus() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busUnavailable = true
}

// HoldReplay makes streams send their first position only, like an aggregator with a slow bus.
func (s *Server) HoldReplay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replayHeld = true
}

// Requests returns the requests so far.
func (s *Server) Requests() []http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Request(nil), s.requests...)
}

func (s *Server) authenticated(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, *r.Clone(r.Context()))
		status, failure := s.status, s.failure
		s.mu.Unlock()
		switch {
		case status != 0:
			writeJSON(w, status, failure)
		case !s.ValidToken(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")):
			writeJSON(w, http.StatusUnauthorized, statusapi.Error{Code: "Unauthorized", Message: "The token is not valid."})
		default:
			next(w, r)
		}
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err) //nolint:forbidigo // a test's own server
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.URL.Query()
	matching := []statusapi.Resource{}
	for _, d := range s.details {
		if matches(query.Get(statusapi.ParamNamespace), d.Resource.Object.Namespace) && matches(query.Get(statusapi.ParamKind), string(d.Resource.Kind)) {
			matching = append(matching, d.Resource)
		}
	}
	from, err := strconv.Atoi("0" + query.Get(statusapi.ParamContinue))
	if err != nil {
		writeJSON(w, http.StatusBadRequest, statusapi.Error{Code: "BadRequest", Message: err.Error()})
		return
	}
	to := min(from+s.pageSize, len(matching))
	page := statusapi.ResourceList{Items: matching[from:to]}
	if to < len(matching) {
		page.Continue = strconv.Itoa(to)
	}
	writeJSON(w, http.StatusOK, page)
}

func (s *Server) detail(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.details {
		o := d.Resource.Object
		if o.Namespace != r.PathValue("namespace") || string(d.Resource.Kind) != r.PathValue("kind") || o.Name != r.PathValue("name") {
			continue
		}
		d.History = []statusapi.HistoryEvent{}
		if s.busUnavailable {
			d.Incomplete = BusUnavailable
			writeJSON(w, http.StatusOK, d)
			return
		}
		for _, e := range s.events {
			if e.Object.Namespace == o.Namespace && e.Object.Kind == o.Kind && e.Object.Name == o.Name {
				d.History = append(d.History, statusapi.HistoryEvent{Sequence: e.Sequence, ID: e.id(), Time: e.Time, Lifecycle: e.Lifecycle})
			}
		}
		if limit, err := strconv.Atoi(r.URL.Query().Get(statusapi.ParamLimit)); err == nil && len(d.History) > limit {
			d.History, d.HistoryTruncated = d.History[len(d.History)-limit:], true
		}
		writeJSON(w, http.StatusOK, d)
		return
	}
	writeJSON(w, http.StatusNotFound, statusapi.Error{Code: "NotFound", Message: "There is no such resource."})
}

func (e Event) id() string { return fmt.Sprintf("uid-%s.%d", e.Object.Name, e.Sequence) }

func matches(filter, value string) bool { return filter == "" || filter == value }
