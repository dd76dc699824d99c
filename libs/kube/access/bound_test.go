package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// slowReviews is an API server that allows everything once it is released.
type slowReviews struct {
	authorizer     *access.Authorizer
	released       <-chan struct{}
	release        func()
	callers        sync.WaitGroup
	running, total atomic.Int64
}

func newSlowReviews(t *testing.T) *slowReviews {
	t.Helper()
	released, release := context.WithCancel(context.Background())
	s := &slowReviews{released: released.Done(), release: release}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.total.Add(1)
		s.running.Add(1)
		defer s.running.Add(-1)
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		<-s.released
		review.Status.Allowed = true
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(func() {
		release()
		s.callers.Wait()
		server.Close()
	})
	var err error
	if s.authorizer, err = access.New(&rest.Config{Host: server.URL, QPS: -1}, access.Options{}); err != nil {
		t.Fatal(err)
	}
	return s
}

var ada = &user.DefaultInfo{Name: "ada"}

func (s *slowReviews) authorize(ctx context.Context, u user.Info, namespace string) error {
	return s.authorizer.Authorize(ctx, u, access.Attributes{Verb: "list", Resource: "configmaps", Namespace: namespace})
}

// start authorizes concurrently. On a busy machine a review may time out before its release.
func (s *slowReviews) start(t *testing.T, u user.Info, namespace string) {
	t.Helper()
	s.callers.Go(func() {
		if err := s.authorize(context.WithoutCancel(t.Context()), u, namespace); apierrors.IsForbidden(err) {
			t.Error(err)
		}
	})
}

// atMost checks that no more reviews than these reach the API server.
func (s *slowReviews) atMost(t *testing.T, n int64) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		if running := s.running.Load(); running < n {
			return fmt.Errorf("%d concurrent reviews, want %d", running, n)
		}
		return nil
	})
	expect.Never(t, 200*time.Millisecond, func() error {
		if running := s.running.Load(); running > n {
			return fmt.Errorf("%d concurrent reviews, want %d", running, n)
		}
		return nil
	})
}

func TestAuthorizerBoundsReviews(t *testing.T) {
	s := newSlowReviews(t)
	for i := range 40 {
		s.start(t, ada, fmt.Sprint("team-", i))
	}
	s.atMost(t, 16)
}

func TestAuthorizerSharesEqualReviews(t *testing.T) {
	s := newSlowReviews(t)
	leaving, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- s.authorize(leaving, ada, "team") }()
	s.atMost(t, 1)
	for range 10 {
		s.start(t, ada, "team")
	}
	s.atMost(t, 1)
	leave() // the others still get the response
	if err := <-left; err == nil {
		t.Error("the caller that left was authorized")
	}
	// The groups of a user and its other attributes are part of the review.
	s.start(t, &user.DefaultInfo{Name: "ada", Groups: []string{"admins"}}, "team")
	s.atMost(t, 2)
	s.release()
	s.callers.Wait()
	if n := s.total.Load(); n != 2 {
		t.Errorf("%d reviews, want 2", n)
	}
}
