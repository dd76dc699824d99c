package httpserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

func serve(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody))
	return w
}

func reject(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }

func TestLimitedSharesSlots(t *testing.T) {
	slots, entered, release := make(httpserver.Slots, 1), make(chan struct{}), make(chan struct{})
	blocking := httpserver.Limited(slots, reject, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	}))
	second := httpserver.Limited(slots, reject, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var first sync.WaitGroup
	first.Go(func() { serve(blocking) })
	<-entered
	if code := serve(second).Code; code != http.StatusTooManyRequests {
		t.Errorf("the second got status %d", code)
	}
	close(release)
	first.Wait()
	if code := serve(second).Code; code != http.StatusOK {
		t.Errorf("then the status is %d", code)
	}
}

func TestLimitedPerUserLeavesSlotsToOthers(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	as := func(name string) func(*http.Request) string { return func(*http.Request) string { return name } }
	slots := httpserver.NewUserSlots(1)
	blocking := httpserver.LimitedPerUser(slots, as("greedy"), reject, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	}))
	status := func(user string) int {
		return serve(httpserver.LimitedPerUser(slots, as(user), reject, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))).Code
	}
	var first sync.WaitGroup
	first.Go(func() { serve(blocking) })
	<-entered
	if greedy, other := status("greedy"), status("ada"); greedy != http.StatusTooManyRequests || other != http.StatusOK {
		t.Errorf("the user got status %d, another user %d", greedy, other)
	}
	close(release)
	first.Wait()
	if code := status("greedy"); code != http.StatusOK {
		t.Errorf("then the status is %d", code)
	}
}

func TestLimitedPerUserWithoutLimit(t *testing.T) {
	slots := httpserver.NewUserSlots(0)
	user := func(*http.Request) string { return "ada" }
	inner := httpserver.LimitedPerUser(slots, user, reject, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if code := serve(httpserver.LimitedPerUser(slots, user, reject, inner)).Code; code != http.StatusOK {
		t.Errorf("status is %d", code)
	}
}

func TestWithinEndsRequestInTime(t *testing.T) {
	h := httpserver.Within(time.Millisecond, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		w.WriteHeader(http.StatusGatewayTimeout)
	}))
	if code := serve(h).Code; code != http.StatusGatewayTimeout {
		t.Errorf("status is %d", code)
	}
}
