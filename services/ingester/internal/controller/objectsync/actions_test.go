package objectsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// fakeStorage records the calls to storage, and returns an error from Finish and Upsert.
type fakeStorage struct {
	storage.IngesterStorage // other methods are not used
	err                     error
	closed                  bool // the row is closed
	calls                   []string
}

func (k *fakeStorage) Upsert(context.Context, runtime.Object, bool, []storage.IndexedField) error {
	k.calls = append(k.calls, "upsert")
	if k.closed {
		return storage.ErrUnconfirmed
	}
	return k.err
}

func (k *fakeStorage) Finish(context.Context, runtime.Object) error {
	k.calls = append(k.calls, "finish")
	return k.err
}

func (k *fakeStorage) Abandon(context.Context, runtime.Object) error {
	k.calls = append(k.calls, "abandon")
	return nil
}

// fixture is a reconciler of Models with a fake storage and API server.
type fixture struct {
	*Reconciler
	fakeStorage *fakeStorage
	requests    []string               // to the cluster, by method
	rejected    *apierrors.StatusError // the response of the cluster to a patch; nil for a success
	live        string                 // the response of the cluster to a read; "" for an object that does not exist
	events      *events.FakeRecorder
	clock       *clocktesting.FakeClock
}

func newFixture(t *testing.T, err error) *fixture {
	t.Helper()
	kinds, loadErr := registry.Load()
	if loadErr != nil {
		t.Fatal(loadErr)
	}
	model, _ := kinds.Lookup("Model")
	m, metricsErr := metrics.New(nil)
	if metricsErr != nil {
		t.Fatal(metricsErr)
	}
	s := &fixture{
		fakeStorage: &fakeStorage{err: err}, events: events.NewFakeRecorder(10), clock: clocktesting.NewFakeClock(time.Unix(1000, 0)),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.requests = append(s.requests, req.Method)
		if req.Method == http.MethodPatch && s.rejected != nil {
			answer(t, w, s.rejected.Status())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := text("")
		if req.Method == http.MethodGet {
			if answer = s.live; answer == "" {
				w.WriteHeader(http.StatusNotFound)
			}
		}
		if _, err := fmt.Fprint(w, answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, clusterErr := newCachedClient(model, connection{config: &rest.Config{Host: server.URL}, http: server.Client(), clock: s.clock}, nil)
	if clusterErr != nil {
		t.Fatal(clusterErr)
	}
	s.Reconciler = &Reconciler{
		config: Config{Kind: model, Store: s.fakeStorage, Metrics: m, Checkpoint: fresh{}, Clock: s.clock, RequeuePeriod: time.Minute},
		client: c, events: s.events, backoff: newBackoff(time.Minute),
	}
	return s
}

// text returns the JSON of a Model with more members in its metadata, each with a comma at its end.
func text(metadata string) string {
	return `{"apiVersion":"michelangelo.api/v2","kind":"Model","metadata":{` + metadata +
		`"name":"churn","namespace":"default","resourceVersion":"7","uid":"u1"}}`
}

const finalizersField = `"finalizers":["michelangelo/Ingester"],`

// handle runs the action for an object.
func (s *fixture) handle(t *testing.T, metadata string) (reconcile.Result, error) {
	t.Helper()
	o, err := object.Parse([]byte(text(metadata)), api.DeletingAnnotation, api.ImmutableAnnotation)
	if err != nil {
		t.Fatal(err)
	}
	o.Received = s.clock.Now()
	s.clock.Step(3 * time.Second)
	return s.result(t.Context(), o, s.act(t.Context(), decide.For(s.observe(o)), o))
}

var errLong = fmt.Errorf("%w: %w", storage.ErrRejected, wire.Within("spec", wire.Within("algorithm", wire.Invalid("too long"))))

// A final state that cannot be stored must not block the deletion of the object.
func TestRejectedObjectLosesFinalizer(t *testing.T) {
	cases := map[string]struct {
		metadata string
		requests []string
	}{
		"when it is Terminating": {finalizersField + `"deletionTimestamp":"2026-11-22T05:00:00Z",`, []string{"PATCH"}},
		"when it is marked":      {finalizersField + `"annotations":{"michelangelo/Deleting":"true"},`, []string{"PATCH", "DELETE"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, errLong)
			if result, err := s.handle(t, tc.metadata); err != nil || !result.IsZero() {
				t.Fatal(result, err)
			}
			if want := []string{"finish", "abandon"}; !slices.Equal(s.fakeStorage.calls, want) {
				t.Errorf("got the storage calls %v, want %v", s.fakeStorage.calls, want)
			}
			if !slices.Equal(s.requests, tc.requests) {
				t.Errorf("got the requests %v, want %v", s.requests, tc.requests)
			}
			if n := testutil.ToFloat64(s.config.Metrics.Incomplete.WithLabelValues("Model")); n != 1 {
				t.Errorf("%v rows are counted as incomplete", n)
			}
			s.checkWarning(t)
		})
	}
}

// checkWarning checks that the one event and the metric name the field.
func (s *fixture) checkWarning(t *testing.T) {
	t.Helper()
	if n := testutil.ToFloat64(s.config.Metrics.Rejected.WithLabelValues("Model", "spec.algorithm")); n != 1 {
		t.Errorf("%v objects are counted as rejected for spec.algorithm", n)
	}
	if len(s.events.Events) != 1 {
		t.Fatalf("%d events", len(s.events.Events))
	}
	if e := <-s.events.Events; !strings.Contains(e, "Warning StorageRejected") || !strings.Contains(e, "spec.algorithm") {
		t.Errorf("the event is %q", e)
	}
}

func TestRejectedObjectIsNotRetried(t *testing.T) {
	s := newFixture(t, errLong)
	if _, err := s.handle(t, finalizersField); !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("got %v, want an end", err)
	}
	s.checkWarning(t)
}

// While storage has a newer version than the cache, the finalizer stays, since the newest state
// would be lost. Once the cache is current, the finalizer is removed.
func TestStaleObjectKeepsFinalizer(t *testing.T) {
	s := newFixture(t, storage.ErrStale)
	terminating := finalizersField + `"deletionTimestamp":"2026-11-22T05:00:00Z",`
	result, err := s.handle(t, terminating)
	if err != nil || result.RequeueAfter != steps.RequeueStale {
		t.Errorf("got %v and %v, want a requeue after %s", result, err, steps.RequeueStale)
	}
	if len(s.requests) > 0 {
		t.Errorf("got the requests %v, want none", s.requests)
	}
	s.fakeStorage.err = nil
	if result, err := s.handle(t, terminating); err != nil || !result.IsZero() {
		t.Error(result, err)
	}
	if !slices.Equal(s.requests, []string{"PATCH"}) {
		t.Errorf("got the requests %v, want the patch that removes our finalizer", s.requests)
	}
}

func TestEventToCommitIsMeasured(t *testing.T) {
	s := newFixture(t, nil)
	if _, err := s.handle(t, finalizersField); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString(`# HELP flotilla_ingester_event_to_commit_seconds Time from the watch event of a change to its commit.
# TYPE flotilla_ingester_event_to_commit_seconds histogram
`)
	for i, le := 0, 0.001; i < 18; i, le = i+1, le*2 {
		n := 0
		if le >= 3 {
			n = 1
		}
		fmt.Fprintf(&want, "flotilla_ingester_event_to_commit_seconds_bucket{kind=\"Model\",le=\"%v\"} %d\n", le, n)
	}
	want.WriteString(`flotilla_ingester_event_to_commit_seconds_bucket{kind="Model",le="+Inf"} 1
flotilla_ingester_event_to_commit_seconds_sum{kind="Model"} 3
flotilla_ingester_event_to_commit_seconds_count{kind="Model"} 1
`)
	// The reconcile of a resync does not follow from the event.
	s.resync.begin(s.clock.Now().Add(time.Minute))
	if _, err := s.handle(t, finalizersField); err != nil {
		t.Fatal(err)
	}
	if err := testutil.CollectAndCompare(s.config.Metrics.EventToCommit, strings.NewReader(want.String())); err != nil {
		t.Error(err)
	}
}

func TestFieldLabelHasFewValues(t *testing.T) {
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	model, _ := kinds.Lookup("Model")
	for path, want := range map[string]string{
		"spec.owner.name": "spec.owner", "spec.qualityScores[2].value": "spec.qualityScores", "spec.quality_scores[2]": "spec.qualityScores",
		"spec.whatever": "spec.other", "metadata.labels.some.domain/key": "metadata.labels", "metadata.colour": "other", "surprise": "other",
	} {
		if got := field(model, fmt.Errorf("store: %w", &wire.FieldError{Path: path})); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if got := field(model, errors.New("Data too long")); got != "unknown" {
		t.Errorf("an error without a field is %s", got)
	}
}

// TestFailedWriteIsRetried: the writer logs a failed batch once.
func TestFailedWriteIsRetried(t *testing.T) {
	s := newFixture(t, fmt.Errorf("%w: deadlock", storage.ErrNotWritten))
	for _, want := range []time.Duration{minBackoff, 2 * minBackoff} {
		if result, err := s.handle(t, finalizersField); err != nil || result.RequeueAfter != want {
			t.Errorf("got %v and %v, want a retry after %s", result, err, want)
		}
	}
}

// fresh is a checkpoint of a database with all evictions.
type fresh struct{}

func (fresh) Behind(context.Context) error  { return nil }
func (fresh) Advance(context.Context) error { return nil }

func (fresh) Complete(context.Context) (bool, error) { return true, nil }
