package server

import (
	"net/http"
	"sync/atomic"
)

// freezer makes the process behave as one that hangs: the kernel accepts connections, but nothing is answered, and SIGTERM
// has no effect. Only SIGKILL ends it.
type freezer struct{ frozen atomic.Bool }

// freeze answers its own request first.
func (f *freezer) freeze(http.ResponseWriter, *http.Request) { f.frozen.Store(true) }

// pause never returns once the process is frozen.
func (f *freezer) pause() {
	if f.frozen.Load() {
		select {}
	}
}

// freezable calls the handler, or never answers.
func (f *freezer) freezable(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.pause()
		handler.ServeHTTP(w, r)
	})
}
