package statustest

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// stream sends events live, from the position in the request.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	last := uint64(0)
	if len(s.events) > 0 {
		last = s.events[len(s.events)-1].Sequence
	}
	next := last + 1
	first, disconnect := s.first, s.disconnect
	s.mu.Unlock()
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = r.URL.Query().Get(statusapi.ParamSince)
	}
	if since != "" {
		n, err := strconv.ParseUint(since, 10, 64)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, statusapi.Error{Code: "BadRequest", Message: err.Error()})
			return
		}
		if n+1 < first || n > last {
			writeJSON(w, http.StatusGone, statusapi.Error{Code: "Gone", Message: fmt.Sprintf("The stream begins at %d.", first)})
			return
		}
		next = n + 1
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "retry: 3000\nid: %d\n\n", next-1)
	for {
		w.(http.Flusher).Flush()
		s.mu.Lock()
		events, changed := s.events, s.changed
		s.mu.Unlock()
		for _, e := range events {
			if e.Sequence < next {
				continue
			}
			next = e.Sequence + 1
			if selected(r, e) && !send(w, e) {
				return
			}
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
