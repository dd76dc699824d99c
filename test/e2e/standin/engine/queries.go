package engine

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
	"time"
)

// drainedHeader is on the answer to a query that the engine did not take, so that the gateway asks another pod.
const drainedHeader = "X-Firebolt-Drained"

const maxQuery = 1 << 20

// pause is what a statement may ask for: SELECT sleep(250ms).
var pause = regexp.MustCompile(`(?i)\b(sleep|suspend)\(\s*'?([0-9.a-zµ]+)'?\s*\)`)

// queries runs queries and counts them.
type queries struct {
	identity Identity
	dataDir  string
	logf     func(format string, args ...any)

	mu                 sync.Mutex
	ready, draining    bool
	running, suspended int
	answered, refused  int
	idle               chan struct{} // closed when draining and nothing runs
	cut                chan struct{} // closed when what still runs is cut off
}

func newQueries(id Identity, dataDir string, logf func(string, ...any)) *queries {
	return &queries{identity: id, dataDir: dataDir, logf: logf, idle: make(chan struct{}), cut: make(chan struct{})}
}

func (q *queries) setReady() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready = true
}

// drain refuses queries from now on; idle is closed when the last one has ended.
func (q *queries) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.draining = true
	q.ended()
}

func (q *queries) ended() {
	if q.draining && q.running+q.suspended == 0 {
		select {
		case <-q.idle:
		default:
			close(q.idle)
		}
	}
}

// begin counts a query in, or says why not.
func (q *queries) begin(suspended bool) (gauge *int, refusal string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.draining:
		q.refused++
		return nil, "the engine is ending"
	case !q.ready:
		q.refused++
		return nil, "the engine is not ready"
	}
	gauge = &q.running
	if suspended {
		gauge = &q.suspended
	}
	*gauge++
	return gauge, ""
}

func (q *queries) end(gauge *int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*gauge--
	q.answered++
	q.ended()
}

// ServeHTTP runs the query of the body, or of the parameter query. The answer begins when the query is taken, so that one
// that is cut is seen by the client: nobody between asks again for an answer that has begun.
func (q *queries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := statement(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wait, suspended, err := asked(text, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	gauge, refusal := q.begin(suspended)
	if gauge == nil {
		w.Header().Set(drainedHeader, "true")
		http.Error(w, refusal, http.StatusServiceUnavailable)
		return
	}
	defer q.end(gauge)
	if err := q.spill(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		q.logf("begin an answer: %v", err)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return
	case <-q.cut:
		panic(http.ErrAbortHandler) //nolint:forbidigo // the only way to break an answer off
	}
	answer := struct {
		Identity
		Query string `json:"query"`
	}{q.identity, text}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		q.logf("answer a query: %v", err)
	}
}

// spill writes as many bytes as the parameter says to the local disk, where they stay: a query whose data does not fit
// into memory.
func (q *queries) spill(r *http.Request) error {
	text := r.URL.Query().Get("spill")
	if text == "" {
		return nil
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("spill: want a number of bytes: %w", err)
	}
	file, err := os.Create(filepath.Join(q.dataDir, "spill"))
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	_, err = io.CopyN(file, zeros{}, size)
	return errors.Join(err, file.Close())
}

// zeros never end.
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
		if err != nil {
			return "", fmt.Errorf("read the query: %w", err)
		}
		return string(text), nil
	}
	return "", fmt.Errorf("a query is sent by POST, not by %s", r.Method)
}

// asked is how long a query takes, and whether it does so suspended: by its text or by a parameter.
func asked(text string, r *http.Request) (wait time.Duration, suspended bool, err error) {
	name, value := "", ""
	if m := pause.FindStringSubmatch(text); m != nil {
		name, value = m[1], m[2]
	}
	for _, parameter := range []string{"sleep", "suspend"} {
		if given := r.URL.Query().Get(parameter); given != "" {
			name, value = parameter, given
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

// health answers /health/ready and /health/live.
func (q *queries) health(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.URL.Path == "/health/ready" && (!q.ready || q.draining) {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// metrics writes the gauges that the operator's drain check reads, without labels.
func (q *queries) metrics(w http.ResponseWriter, _ *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, m := range []struct {
		name, kind, help string
		value            int
	}{
		{"firebolt_running_queries", "gauge", "Queries that run.", q.running},
		{"firebolt_suspended_queries", "gauge", "Queries that wait to go on.", q.suspended},
		{"firebolt_standin_answered_total", "counter", "Queries that have ended.", q.answered},
		{"firebolt_standin_refused_total", "counter", "Queries that were not taken.", q.refused},
	} {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", m.name, m.help, m.name, m.kind, m.name, m.value)
	}
}
