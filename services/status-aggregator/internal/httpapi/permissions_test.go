package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/kube/access"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// reviews is an authorizer that counts reviews of namespaces and of the cluster, and allows some.
type reviews struct {
	Authorizer

	allow func(namespace string) bool

	mu                  sync.Mutex
	cluster, namespaces int
}

func (r *reviews) Authorize(_ context.Context, _ user.Info, a access.Attributes) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Namespace == "" {
		r.cluster++
	} else {
		r.namespaces++
	}
	if r.allow(a.Namespace) {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: a.Resource}, "", errors.New("no permission"))
}

// manyNamespaces is a view of one Superset and one FireboltEngine in each of a hundred namespaces.
type manyNamespaces struct{ View }

func (manyNamespaces) List(readmodel.Filter) ([]statusapi.Resource, error) {
	var out []statusapi.Resource
	for i := range 100 {
		for _, kind := range []contract.Kind{contract.FireboltEngine, contract.Superset} {
			namespace := fmt.Sprintf("team-%02d", i)
			out = append(out, statusapi.Resource{Kind: kind, Object: contract.Object{Namespace: namespace, Name: "main"}})
		}
	}
	return out, nil
}

// users is an authorizer that accepts the name of a user as token and allows everything.
type users struct{}

func (users) Authenticate(r *http.Request) (user.Info, error) {
	return &user.DefaultInfo{Name: r.Header.Get("Authorization")}, nil
}

func (users) Authorize(context.Context, user.Info, access.Attributes) error { return nil }

func TestServerLimitsRequestsPerUser(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	view := failing{func() error {
		entered <- struct{}{}
		<-leave
		return readmodel.ErrNotReady
	}}
	c := Config{Log: logr.Discard(), Clock: clock.RealClock{}}
	c.Options.MaxRequests, c.Options.MaxRequestsPerUser, c.Options.RequestTimeout = 10, 1, time.Minute
	handler, err := (&handlers{authorizer: users{}, view: view}).handler(c)
	if err != nil {
		t.Fatal(err)
	}
	get := func(user string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, statusapi.PathResources, http.NoBody)
		r.Header.Set("Authorization", user)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	var running sync.WaitGroup
	running.Go(func() { get("greedy") })
	<-entered
	w := get("greedy")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "too many requests of one user") {
		t.Errorf("the user got %d, %v, %s", w.Code, w.Header(), w.Body)
	}
	running.Go(func() { get("ada") })
	<-entered // another user is served
	close(leave)
	running.Wait()
}

func TestListReviewsOnlyPermissionsOfThePage(t *testing.T) {
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		allow               func(namespace string) bool
		cluster, namespaces int // the maximum number of reviews of a page
		want                int // items of all pages
	}{
		"of the cluster":       {func(namespace string) bool { return namespace == "" }, 2, 0, 200},
		"of each namespace":    {func(namespace string) bool { return namespace != "" }, 2, 16, 200},
		"of one namespace":     {func(namespace string) bool { return namespace == "team-42" }, 2, 200, 2},
		"without permissions":  {func(string) bool { return false }, 2, 200, 0},
		"of half of the items": {func(namespace string) bool { return namespace > "team-49" }, 2, 120, 100},
	} {
		t.Run(name, func(t *testing.T) {
			items, next := 0, ""
			for pages := 0; pages == 0 || next != ""; pages++ {
				r := &reviews{allow: tc.allow}
				page := listPage(t, &handlers{authorizer: r, view: manyNamespaces{}, kinds: kinds}, next)
				if r.cluster > tc.cluster || r.namespaces > tc.namespaces {
					t.Errorf("page %d: %d reviews of the cluster and %d of namespaces, want at most %d and %d",
						pages, r.cluster, r.namespaces, tc.cluster, tc.namespaces)
				}
				if slices.ContainsFunc(page.Items, func(i statusapi.Resource) bool { return !tc.allow("") && !tc.allow(i.Object.Namespace) }) {
					t.Errorf("page %d has forbidden items", pages)
				}
				items, next = items+len(page.Items), page.Continue
			}
			if items != tc.want {
				t.Errorf("got %d items, want %d", items, tc.want)
			}
		})
	}
}

// listPage returns a page of ten items.
func listPage(t *testing.T, a *handlers, next string) statusapi.ResourceList {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, statusapi.PathResources+"?limit=10&continue="+next, http.NoBody)
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{Info: &user.DefaultInfo{Name: "ada"}}))
	w := httptest.NewRecorder()
	if err := a.list(w, r); err != nil {
		t.Fatal(err)
	}
	var page statusapi.ResourceList
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	return page
}
