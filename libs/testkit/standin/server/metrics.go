package server

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Mode is how the metrics port behaves.
type Mode string

// Modes of the metrics port.
const (
	Sound    Mode = ""         // as an engine's
	Broken   Mode = "broken"   // status 500
	Slow     Mode = "slow"     // answers after a second
	Silent   Mode = "silent"   // takes the request and never answers, as a black hole does
	Missing  Mode = "missing"  // without the gauge of suspended queries
	Labelled Mode = "labelled" // gauges with labels only
	Redirect Mode = "redirect" // sends the client to another path, where all is quiet
)

var modes = []Mode{Sound, Broken, Slow, Silent, Missing, Labelled, Redirect}

func (m Mode) known() bool { return slices.Contains(modes, m) }

const slowness = time.Second

func (s *Server) metrics() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.stats.Scrapes++
		mode := s.mode
		s.mu.Unlock()
		switch mode {
		case Broken:
			http.Error(w, "the metrics are broken", http.StatusInternalServerError)
			return
		case Redirect:
			http.Redirect(w, r, "/quiet", http.StatusFound)
			return
		case Silent:
			<-r.Context().Done()
			return
		case Slow:
			select {
			case <-time.After(slowness):
			case <-r.Context().Done():
				return
			}
		}
		page(w, mode, s.Stats())
	})
	mux.HandleFunc("GET /quiet", func(w http.ResponseWriter, _ *http.Request) { page(w, Sound, Stats{}) })
	return mux
}

// page writes the gauges, with others around them.
func page(w io.Writer, mode Mode, s Stats) {
	labels := ""
	if mode == Labelled {
		labels = `{node="0"}`
	}
	fmt.Fprintln(w, "# HELP firebolt_running_queries Queries that run.")
	fmt.Fprintln(w, "# TYPE firebolt_running_queries gauge")
	fmt.Fprintf(w, "firebolt_running_queries%s %d\n", labels, s.Running)
	if mode != Missing {
		fmt.Fprintf(w, "# TYPE firebolt_suspended_queries gauge\nfirebolt_suspended_queries%s %d\n", labels, s.Suspended)
	}
	fmt.Fprintf(w, "# TYPE firebolt_finished_queries_total counter\nfirebolt_finished_queries_total %d\n", s.Finished)
}
