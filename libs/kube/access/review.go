package access

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// reviewer sends TokenReviews to the API server. Unlike the webhook authenticator of
// k8s.io/apiserver it distinguishes a rejected token from a review without a response:
// the first is cached and is a 401, the second is not cached and is a 503.
type reviewer struct {
	client    authenticationclient.TokenReviewInterface
	audiences authenticator.Audiences
}

// AuthenticateToken implements authenticator.Token.
func (r *reviewer) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: r.audiences}}
	review, err := r.client.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, false, outage{fmt.Errorf("create TokenReview: %w", err)}
	}
	status := review.Status
	if !status.Authenticated {
		return nil, false, nil
	}
	// An API server without support for audiences returns none, which proves nothing.
	matching := r.audiences.Intersect(status.Audiences)
	if len(r.audiences) > 0 && len(matching) == 0 {
		return nil, false, nil
	}
	extra := make(map[string][]string, len(status.User.Extra))
	for key, values := range status.User.Extra {
		extra[key] = values
	}
	return &authenticator.Response{Audiences: matching, User: &user.DefaultInfo{
		Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups, Extra: extra,
	}}, true, nil
}

// outage is the error of a review without a response.
type outage struct{ error }

// Unwrap returns the reason.
func (o outage) Unwrap() error { return o.error }

func isOutage(err error) bool {
	var o outage
	return errors.As(err, &o) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
