package statustest

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// stream sends events live, from the position in the request, and its position after the replay.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	disconnect := s.disconnect
	s.mu.Unlock()
	next, failure := s.start(r)
	if failure != nil {
		writeJSON(w, failure.status, failure.Error)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "retry: 3000\nid: %d\n\n", next-1)
	w.(http.Flusher).Flush()
	for replay := true; ; replay = false {
		s.mu.Lock()
		events, changed, held := s.events, s.changed, s.replayHeld
		s.mu.Unlock()
		for _, e := range events {
			if held || e.Sequence < next {
				continue
			}
			next = e.Sequence + 1
			if selected(r, e) && !send(w, e) {
				return
			}
		}
		if replay && !held {
			fmt.Fprintf(w, "id: %d\n\n", next-1)
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-disconnect:
			return
		case <-r.Context().Done():
			return
		}
	}
}

type failure struct {
	status int
	statusapi.Error
}

// start returns the sequence of the first event for a request.
func (s *Server) start(r *http.Request) (uint64, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := uint64(0)
	if len(s.events) > 0 {
		last = s.events[len(s.events)-1].Sequence
	}
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = r.URL.Query().Get(statusapi.ParamSince)
	}
	if since == "" {
		return last + 1, nil
	}
	n, err := strconv.ParseUint(since, 10, 64)
	switch {
	case err != nil:
		return 0, &failure{http.StatusBadRequest, statusapi.Error{Code: "BadRequest", Message: err.Error()}}
	case n+1 < s.first || n > last:
		return 0, &failure{http.StatusGone, statusapi.Error{Code: "Gone", Message: fmt.Sprintf("The stream begins at %d.", s.first)}}
	}
	return n + 1, nil
}

func selected(r *http.Request, e Event) bool {
	query := r.URL.Query()
	kind, _ := contract.KindFor(e.Object.Group, e.Object.Kind)
	return matches(query.Get(statusapi.ParamNamespace), e.Object.Namespace) &&
		matches(query.Get(statusapi.ParamKind), string(kind)) && matches(query.Get(statusapi.ParamName), e.Object.Name)
}

func send(w http.ResponseWriter, e Event) bool {
	data, err := contract.Encode(contract.Event{
		ID: e.id(), Source: contract.Source("test", "status-aggregator"), Subject: e.Object.Namespace + "/" + e.Object.Name, Time: e.Time,
	}, e.Lifecycle)
	if err != nil {
		return false
	}
	_, err = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", e.Sequence, data)
	return err == nil
}
