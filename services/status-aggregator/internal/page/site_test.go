package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/httpapi"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel/readmodeltest"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// fleet is the data of the API; it replaces the cluster from which package readmodel reads.
type fleet struct {
	mu      sync.Mutex
	details []statusapi.ResourceDetail
	token   string // the accepted one; empty accepts every request
}

var errUnauthorized = apierrors.NewUnauthorized("a valid bearer token is required")

func (f *fleet) Authenticate(r *http.Request) (user.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
		return nil, errUnauthorized
	}
	return &user.DefaultInfo{Name: "ada"}, nil
}

func (f *fleet) Authorize(context.Context, user.Info, access.Attributes) error { return nil }

func (f *fleet) List(readmodel.Filter) ([]statusapi.Resource, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []statusapi.Resource
	for _, d := range f.details {
		out = append(out, d.Resource)
	}
	slices.SortFunc(out, readmodel.Compare)
	return out, nil
}

func (f *fleet) Detail(_ context.Context, namespace string, kind contract.Kind, name string, _ int) (statusapi.ResourceDetail, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.details {
		if o := d.Resource.Object; o.Namespace == namespace && d.Resource.Kind == kind && o.Name == name {
			return d, nil
		}
	}
	return statusapi.ResourceDetail{}, readmodel.ErrNotFound
}

// siteEnv serves the page and the API of a fleet.
type siteEnv struct {
	*readmodeltest.Bus
	*fleet
	base string
}

func newSiteEnv(t *testing.T) *siteEnv {
	t.Helper()
	s := &siteEnv{Bus: readmodeltest.NewBus(t), fleet: &fleet{}}
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	server, err := httpapi.New(httpapi.Config{
		Options:    httpapi.Options{MaxStreams: 20, Options: httpserver.Options{BindAddress: "127.0.0.1:0", MaxRequests: 20, RequestTimeout: time.Minute}},
		Authorizer: s.fleet, View: s.fleet, Hub: s.NewHub(0), Kinds: kinds, Log: logr.Discard(), Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Run(server.Start)
	address, err := server.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.base = "http://" + address
	return s
}

// request changes a site; test/page has the same type.
type request struct {
	Details *[]statusapi.ResourceDetail `json:"details,omitempty"` // the fleet
	Token   *string                     `json:"token,omitempty"`   // the accepted one
	Event   *contract.Lifecycle         `json:"event,omitempty"`   // to publish
	NATS    string                      `json:"nats,omitempty"`    // stop or start
}

// answer is the reply to a request, and the first line.
type answer struct {
	Base     string `json:"base,omitempty"`
	Sequence uint64 `json:"sequence,omitempty"` // of the published event
}

func (s *siteEnv) do(r request) (answer, error) {
	if r.Event != nil {
		return answer{Sequence: s.Event(*r.Event)}, nil
	}
	switch r.NATS {
	case "":
	case "stop":
		s.NATS.Stop()
	case "start":
		s.NATS.Start()
		s.Bootstrap()
	default:
		return answer{}, fmt.Errorf("nats must be stop or start, got %q", r.NATS)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Details != nil {
		s.details = *r.Details
	}
	if r.Token != nil {
		s.token = *r.Token
	}
	return answer{}, nil
}

// serve responds to requests, one per line, until they end.
func serve(t *testing.T, in io.Reader, out io.Writer) {
	t.Helper()
	s, requests, answers := newSiteEnv(t), json.NewDecoder(in), json.NewEncoder(out)
	a := answer{Base: s.base}
	for {
		if err := answers.Encode(a); err != nil {
			t.Fatal(err)
		}
		var r request
		err := requests.Decode(&r)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			a, err = s.do(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestServe serves the page for test/page: with FLOTILLA_PAGE_SERVE it reads requests from standard input.
func TestServe(t *testing.T) {
	if os.Getenv("FLOTILLA_PAGE_SERVE") != "" {
		serve(t, os.Stdin, os.Stdout)
		return
	}
	event, err := json.Marshal(request{Event: &contract.Lifecycle{
		Object: contract.Object{
			GroupVersionKind: contract.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"},
			Namespace:        "team-a", Name: "main", UID: "u", Generation: 1,
		},
		Event: contract.EventDeleted,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	serve(t, strings.NewReader(`{"details":[]}`+"\n"+string(event)+"\n"+`{"nats":"stop"}`+"\n"+`{"nats":"start"}`+"\n"), &out)
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if want := []string{`{"sequence":1}`, "{}", "{}"}; len(got) != 5 || !strings.HasPrefix(got[0], `{"base":"http://127.0.0.1:`) || !slices.Equal(got[2:], want) {
		t.Errorf("responses are %q", got)
	}
}
