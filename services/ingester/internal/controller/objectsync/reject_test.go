package objectsync

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// permissions answers whether the ingester may patch.
type permissions struct {
	client.Client
	allowed bool
}

func (p permissions) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	o.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed = p.allowed
	return nil
}

func (permissions) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, runtime.NewScheme())
}

func (permissions) RESTMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.FromAPIVersionAndKind(api.GroupVersion, "Model"), meta.RESTScopeNamespace)
	return mapper
}

// An object is stored also if the API server does not add our finalizer, and the patch is retried. An event names the
// cause if it concerns the object.
func TestObjectWithoutFinalizerIsStored(t *testing.T) {
	denied := apierrors.NewForbidden(models, "churn", errors.New("denied by a policy"))
	for name, tc := range map[string]struct {
		err    *apierrors.StatusError
		denied bool // the ingester lacks the permission
		want   string
	}{
		"a bad request":        {err: apierrors.NewBadRequest("webhook says no"), want: "webhook says no"},
		"a policy":             {err: denied, want: "denied by a policy"},
		"an invalid object":    {err: apierrors.NewInvalid(schema.GroupKind{Kind: "Model"}, "churn", nil), want: `"churn" is invalid`},
		"a missing permission": {err: denied, denied: true},
		"an overload":          {err: apierrors.NewServiceUnavailable("starting")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, nil)
			s.rejected, s.permissions = tc.err, permissions{allowed: !tc.denied}
			for range 2 {
				if result, err := s.handle(t, ""); apierrors.ReasonForError(err) != tc.err.ErrStatus.Reason || !result.IsZero() {
					t.Errorf("got %v and %v, want %v", result, err, tc.err)
				}
			}
			if want := []string{"upsert", "upsert"}; !slices.Equal(s.fakeStorage.calls, want) {
				t.Errorf("got the storage calls %v, want %v", s.fakeStorage.calls, want)
			}
			if n := testutil.CollectAndCount(s.config.Metrics.EventToCommit); n != 0 {
				t.Error("a retry counts as the commit of the watch event")
			}
			events := 0
			if tc.want != "" {
				events = 2
			}
			if n := testutil.ToFloat64(s.config.Metrics.Errors.WithLabelValues("kubernetes", "rejected")); int(n) != events || len(s.events.Events) != events {
				t.Fatalf("got the count %v and %d events, want %d", n, len(s.events.Events), events)
			}
			if events == 0 {
				return
			}
			if e := <-s.events.Events; !strings.Contains(e, "Warning FinalizerRejected") || !strings.Contains(e, tc.want) {
				t.Errorf("the event is %q, want the cause %q", e, tc.want)
			}
		})
	}
}

// The row was closed by mistake: it is opened, and the finalizer is tried again with the open row.
func TestClosedRowOpensWithoutFinalizer(t *testing.T) {
	s := newFixture(t, nil)
	s.live, s.fakeStorage.closed = text(""), true
	s.rejected = apierrors.NewInvalid(schema.GroupKind{Kind: "Model"}, "churn", nil)
	if result, err := s.handle(t, ""); err != nil || result.RequeueAfter != steps.RequeueStale {
		t.Errorf("got %v and %v, want a requeue after %s", result, err, steps.RequeueStale)
	}
	if want := []string{"upsert", "reopen"}; !slices.Equal(s.fakeStorage.calls, want) {
		t.Errorf("got the storage calls %v, want %v", s.fakeStorage.calls, want)
	}
}
