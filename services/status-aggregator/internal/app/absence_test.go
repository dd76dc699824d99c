package app

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// An object is deleted and recreated under its name while everything is down: the history of the
// former one ends with a gap, and its observations never apply to the new one.
func TestObjectRecreatedDuringOutage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	first := f.superset("main")
	o.observe(first, 2)
	f.condition(first, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	r.stop()
	f.nats.Stop()
	if err := f.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	u := f.superset("main")
	flips := f.record(u)
	f.nats.Start()
	since := time.Now()
	f.start()
	f.leading(since)
	o.observe(u, 0)
	f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
	f.wantHistory("main snapshot", "main deleted gap", "main snapshot")
	flips.want(t, conditions.TypeAvailable, "False")
}

// Rejected writes are retried with a growing backoff, until the API server accepts them.
func TestReconcileRetriesRejectedWrites(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{
		"throttled": http.StatusTooManyRequests, "conflict": http.StatusConflict, "broken": http.StatusInternalServerError,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			r := f.start()
			o := f.operator("superset-operator", contract.Superset)
			f.leading(time.Time{})
			u := f.superset("main")
			var rejections atomic.Int64
			respond := func(req *http.Request) *http.Response {
				if req.Method != http.MethodPatch {
					return nil
				}
				rejections.Add(1)
				return refusal(req, status)
			}
			r.requests.respond.Store(&respond)
			o.observe(u, 2)
			f.wantHistory("main snapshot") // events are published although the API server rejects writes
			expect.Never(t, 3*time.Second, func() error {
				if n := rejections.Load(); n > 40 {
					return fmt.Errorf("%d writes within three seconds, want a few", n)
				}
				return nil
			})
			if rejections.Load() == 0 {
				t.Error("no write was tried")
			}
			r.requests.respond.Store(nil)
			f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
			f.wantHistory("main snapshot")
		})
	}
}

func refusal(req *http.Request, status int) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused by the test","reason":"` +
			map[int]string{409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}[status] + `"}`)),
	}
}
