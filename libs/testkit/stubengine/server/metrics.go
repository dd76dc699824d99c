package server

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Mode is a behavior of the metrics port.
type Mode string

// Modes of the metrics port.
const (
	Normal       Mode = ""             // like an engine
	Broken       Mode = "broken"       // status 500
	Slow         Mode = "slow"         // answers after a second
	Unresponsive Mode = "unresponsive" // accepts the request and never answers
	Missing      Mode = "missing"      // without the gauge of suspended queries
	Labeled      Mode = "labelled"     // gauges with labels only
	Redirect     Mode = "redirect"     // redirects to another path, whose gauges are 0
)

var modes = []Mode{Normal, Broken, Slow, Unresponsive, Missing, Labeled, Redirect}

const slowDelay = time.Second

// setMode sets the behavior of the metrics port for all further requests.
func (q *queries) setMode(w http.ResponseWriter, r *http.Request) {
	mode := Mode(r.FormValue("mode"))
	if !slices.Contains(modes, mode) {
		http.Error(w, fmt.Sprintf("unknown mode %q", mode), http.StatusBadRequest)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mode = mode
}

// metrics serves the gauges that the operator's drain check reads, or what the mode requires.
func (q *queries) metrics(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	q.stats.Scrapes++
	mode := q.mode
	q.mu.Unlock()
	switch mode {
	case Broken:
		http.Error(w, "the metrics are broken", http.StatusInternalServerError)
		return
	case Redirect:
		http.Redirect(w, r, "/quiet", http.StatusFound)
		return
	case Unresponsive:
		<-r.Context().Done()
		return
	case Slow:
		select {
		case <-time.After(slowDelay):
		case <-r.Context().Done():
			return
		}
	default: // page writes them
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	page(w, mode, q.counts())
}

// page writes the gauges, among other metrics.
func page(w io.Writer, mode Mode, s Stats) {
	labels := ""
	if mode == Labeled {
		labels = `{node="0"}`
	}
	for _, m := range []struct {
		name, kind, help string
		value            int
	}{
		{"firebolt_running_queries", "gauge", "Queries that run.", s.Running},
		{"firebolt_suspended_queries", "gauge", "Queries that wait to resume.", s.Suspended},
		{"firebolt_stub_finished_total", "counter", "Queries that were answered.", s.Finished},
		{"firebolt_stub_refused_total", "counter", "Queries that were not taken.", s.Refused},
	} {
		if mode == Missing && m.name == "firebolt_suspended_queries" {
			continue
		}
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s%s %d\n", m.name, m.help, m.name, m.kind, m.name, labels, m.value)
	}
}
