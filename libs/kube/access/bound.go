package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/sync/singleflight"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/rest"
)

// maxReviews is the maximum number of concurrent requests for each kind of review, so that no caller of
// the service can flood the API server.
const maxReviews = 16

// shared sends one review for equal concurrent ones. Later ones are cached.
type shared struct {
	reviews authorizer.Authorizer
	flights singleflight.Group
}

// outcome is the outcome of a review.
type outcome struct {
	decision authorizer.Decision
	reason   string
}

// authorize returns the decision and its reason. A caller that leaves does not end the review for the others.
func (s *shared) authorize(ctx context.Context, u user.Info, a Attributes) (authorizer.Decision, string, error) {
	key, err := json.Marshal([]any{u.GetName(), u.GetUID(), u.GetGroups(), u.GetExtra(), a})
	if err != nil {
		return authorizer.DecisionNoOpinion, "", fmt.Errorf("encode the attributes of a review: %w", err)
	}
	flight := s.flights.DoChan(string(key), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		decision, reason, err := s.reviews.Authorize(ctx, a.record(u))
		return outcome{decision, reason}, err
	})
	select {
	case r := <-flight:
		o, ok := r.Val.(outcome)
		if !ok {
			return authorizer.DecisionNoOpinion, "", r.Err
		}
		return o.decision, o.reason, r.Err
	case <-ctx.Done():
		return authorizer.DecisionNoOpinion, "", ctx.Err()
	}
}

// bounded returns a copy of the configuration with at most maxReviews concurrent requests.
func bounded(cfg *rest.Config) *rest.Config {
	out := rest.CopyConfig(cfg)
	slots := make(chan struct{}, maxReviews)
	out.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next: next, slots: slots} })
	return out
}

// transport sends at most as many concurrent requests as it has slots; others wait in order.
type transport struct {
	next  http.RoundTripper
	slots chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
		return t.next.RoundTrip(r)
	case <-r.Context().Done():
		if r.Body == nil {
			return nil, r.Context().Err()
		}
		return nil, errors.Join(r.Context().Err(), r.Body.Close())
	}
}
