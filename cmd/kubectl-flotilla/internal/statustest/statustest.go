// Package statustest is a small server of the status API for tests: it answers what a test puts into it, in the words of
// libs/contract/statusapi, and takes requests with one token only.
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

// Token is the one that the server takes.
const Token = "a-token-of-the-tests"

// Page is the content at the root.
const Page = "<!DOCTYPE html><title>Fleet</title>"

// Server holds its responses.
type Server struct {
	*httptest.Server
	// Takes reports whether a token is valid; only [Token] is by default. Set it before the first request.
	Takes func(token string) bool

	mu       sync.Mutex
	details  []statusapi.ResourceDetail
	pageSize int
	events   []Event
	first    uint64 // sequence of the oldest event that the server still has
	changed  chan struct{}
	cut      chan struct{} // closed to break the streams
	asked    []http.Request
	refuse   *statusapi.Error
	status   int
	busAway  bool
}

// BusAway is the message of the aggregator for a resource whose history it cannot read.
const BusAway = "observation and history may be missing: the bus does not respond"

// Event is one entry of the stream.
type Event struct {
	Sequence uint64
	Time     time.Time
	contract.Lifecycle
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := New()
	s.Server = httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Cut()
		s.Close()
	})
	return s
}

// New returns a server that is not started.
func New() *Server {
	return &Server{Takes: func(token string) bool { return token == Token }, pageSize: 500, first: 1, changed: make(chan struct{}), cut: make(chan struct{})}
}

// Handler returns the HTTP handler, for other kinds of servers.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statusapi.PathResources, s.guarded(s.list))
	mux.HandleFunc("GET "+statusapi.PathResource, s.guarded(s.detail))
	mux.HandleFunc("GET "+statusapi.PathEvents, s.guarded(s.stream))
	mux.HandleFunc("GET "+statusapi.PathPage, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		fmt.Fprint(w, Page)
	})
	return mux
}

// Add makes resources known; PageSize is how many one page of a list holds.
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

// Forget drops the events before a sequence.
func (s *Server) Forget(first uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
}

// Cut breaks the streams that are open.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

// Refuse answers every request with an error; status 0 ends that.
func (s *Server) Refuse(status int, code, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.refuse = status, &statusapi.Error{Code: code, Message: message}
}

// LoseBus answers as an aggregator does that cannot reach NATS: resources without their history.
func (s *Server) LoseBus() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busAway = true
}

// Asked returns the requests so far.
func (s *Server) Asked() []http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Request(nil), s.asked...)
}

func (s *Server) guarded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, *r.Clone(r.Context()))
		status, refuse := s.status, s.refuse
		s.mu.Unlock()
		switch {
		case status != 0:
			answer(w, status, refuse)
		case !s.Takes(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")):
			answer(w, http.StatusUnauthorized, statusapi.Error{Code: "Unauthorized", Message: "The token is not valid."})
		default:
			next(w, r)
		}
	}
}

func answer(w http.ResponseWriter, status int, v any) {
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
		answer(w, http.StatusBadRequest, statusapi.Error{Code: "BadRequest", Message: err.Error()})
		return
	}
	to := min(from+s.pageSize, len(matching))
	page := statusapi.ResourceList{Items: matching[from:to]}
	if to < len(matching) {
		page.Continue = strconv.Itoa(to)
	}
	answer(w, http.StatusOK, page)
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
		if s.busAway {
			d.Incomplete = BusAway
			answer(w, http.StatusOK, d)
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
		answer(w, http.StatusOK, d)
		return
	}
	answer(w, http.StatusNotFound, statusapi.Error{Code: "NotFound", Message: "There is no such resource."})
}

func (e Event) id() string { return fmt.Sprintf("uid-%s.%d", e.Object.Name, e.Sequence) }

func matches(filter, value string) bool { return filter == "" || filter == value }
