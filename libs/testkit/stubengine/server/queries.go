package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Drained is the response header of a rejected query, on which the gateway retries another pod.
const Drained = "X-Firebolt-Drained"

const maxQuery = 1 << 20

// pause matches a pause that a statement requests: SELECT sleep(250ms).
var pause = regexp.MustCompile(`(?i)\b(sleep|suspend)\(\s*'?([0-9.a-zµ]+)'?\s*\)`)

// Stats count queries.
type Stats struct {
	Running   int `json:"running"`
	Suspended int `json:"suspended"`
	// Finished queries were answered, Cut ones were interrupted, Refused ones were rejected.
	Finished int `json:"finished"`
	Cut      int `json:"cut"`
	Refused  int `json:"refused"`
	// Scrapes are requests for metrics.
	Scrapes int `json:"scrapes"`
}

// queries runs queries and counts them.
type queries struct {
	Options
	freezer
	executions atomic.Int64

	mu              sync.Mutex
	ready, draining bool
	stats           Stats
	mode            Mode
	idle            chan struct{} // closed when draining and nothing runs
	aborted         chan struct{} // closed when what still runs is cut off
}

func newQueries(o Options) *queries {
	return &queries{Options: o, idle: make(chan struct{}), aborted: make(chan struct{})}
}

func (q *queries) setReady() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready = true
}

// drain makes the engine reject new queries; idle is closed when the last query has ended.
func (q *queries) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.draining = true
	q.closeIfIdle()
}

func (q *queries) closeIfIdle() {
	if q.draining && q.stats.Running+q.stats.Suspended == 0 {
		select {
		case <-q.idle:
		default:
			close(q.idle)
		}
	}
}

func (q *queries) counts() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// start counts a query as running, or returns the reason why it is rejected.
func (q *queries) start(suspended bool) (gauge *int, rejection string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.draining:
		rejection = "the engine is ending"
	case !q.ready:
		rejection = "the engine is not ready"
	}
	if rejection != "" {
		q.stats.Refused++
		return nil, rejection
	}
	gauge = &q.stats.Running
	if suspended {
		gauge = &q.stats.Suspended
	}
	*gauge++
	return gauge, ""
}

func (q *queries) end(gauge *int, finished bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*gauge--
	if finished {
		q.stats.Finished++
	} else {
		q.stats.Cut++
	}
	q.closeIfIdle()
}

// ServeHTTP runs the query in the body or in the parameter query. The response begins when the query is accepted, so that
// the client sees an interrupted query: proxies do not retry a response that has begun.
func (q *queries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := statement(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wait, suspended, err := parseDuration(text, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	gauge, rejection := q.start(suspended)
	if gauge == nil {
		w.Header().Set(Drained, "true")
		http.Error(w, rejection, http.StatusServiceUnavailable)
		return
	}
	finished := false
	defer func() { q.end(gauge, finished) }()
	q.reportExecution(r)
	if err := q.spill(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		q.Logf("begin an answer: %v", err)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return
	case <-q.aborted:
		panic(http.ErrAbortHandler) //nolint:forbidigo // the only way to abort a response
	}
	q.pause()
	if err := json.NewEncoder(w).Encode(q.answer(text, r.URL.Query().Get("output_format"))); err != nil {
		q.Logf("answer a query: %v", err)
		return
	}
	finished = true
}

// spill writes the number of bytes in the parameter to the local disk and keeps them, like a query whose data does not
// fit into memory.
func (q *queries) spill(r *http.Request) error {
	text := r.URL.Query().Get("spill")
	if text == "" {
		return nil
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("spill: want a number of bytes: %w", err)
	}
	file, err := os.Create(filepath.Join(q.DataDir, "spill"))
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	_, err = io.CopyN(file, zeros{}, size)
	return errors.Join(err, file.Close())
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func statement(r *http.Request) (string, error) {
	switch r.Method {
	case http.MethodGet:
		return r.URL.Query().Get("query"), nil
	case http.MethodPost:
		text, err := io.ReadAll(io.LimitReader(r.Body, maxQuery))
		if err == nil { // unread data resets the connection, and the client loses the response
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err != nil {
			return "", fmt.Errorf("read the query: %w", err)
		}
		return string(text), nil
	}
	return "", fmt.Errorf("a query is sent by POST, not by %s", r.Method)
}

// parseDuration returns the duration of a query and whether it is suspended, from its text or from a parameter.
func parseDuration(text string, r *http.Request) (wait time.Duration, suspended bool, err error) {
	name, value := "", ""
	if m := pause.FindStringSubmatch(text); m != nil {
		name, value = m[1], m[2]
	}
	for _, parameter := range []string{"sleep", "suspend"} {
		if override := r.URL.Query().Get(parameter); override != "" {
			name, value = parameter, override
		}
	}
	if value == "" {
		return 0, false, nil
	}
	wait, err = time.ParseDuration(value)
	if err != nil {
		return 0, false, fmt.Errorf("%s(%s): want a duration such as 250ms", name, value)
	}
	return wait, len(name) == len("suspend"), nil
}
