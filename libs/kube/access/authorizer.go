package access

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// DefaultTTL is the default lifetime of a cached review.
const DefaultTTL = 10 * time.Second

// reviewTimeout is the timeout of one review request to the API server.
const reviewTimeout = 5 * time.Second

// Options configure an [Authorizer].
type Options struct {
	// Audiences are the accepted audiences; a token must have one of them. Empty means those of
	// the API server.
	Audiences []string
	// TTL is the lifetime of a cached review, allowed or denied; zero means [DefaultTTL].
	// A revoked token or role stays effective for that long.
	TTL time.Duration
}

// Authorizer authenticates and authorizes requests. It is safe for concurrent use.
type Authorizer struct {
	requests   authenticator.Request
	authorizer *shared
}

// New returns an Authorizer that sends reviews to the API server of cfg. It sends no request yet.
func New(cfg *rest.Config, o Options) (*Authorizer, error) {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	authentication, err := authenticationclient.NewForConfig(bounded(cfg))
	if err != nil {
		return nil, fmt.Errorf("create TokenReview client: %w", err)
	}
	authorization, err := authorizationclient.NewForConfig(bounded(cfg))
	if err != nil {
		return nil, fmt.Errorf("create SubjectAccessReview client: %w", err)
	}
	a, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: authorization,
		AllowCacheTTL:             o.TTL,
		DenyCacheTTL:              o.TTL,
		WebhookRetryBackoff:       &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 3},
	}.New()
	if err != nil {
		return nil, fmt.Errorf("create authorizer: %w", err)
	}
	tokens := cache.New(&reviewer{client: authentication.TokenReviews(), audiences: o.Audiences}, false, o.TTL, o.TTL)
	return &Authorizer{requests: group.NewAuthenticatedGroupAdder(bearertoken.New(tokens)), authorizer: &shared{reviews: a}}, nil
}

// Authenticate returns the user of the request's bearer token; it does not change the request.
// The error is a 401 without a valid token, a 503 if the API server does not respond, or a 500 if
// the service may not create TokenReviews.
func (z *Authorizer) Authenticate(r *http.Request) (user.Info, error) {
	// The authenticator removes the token from the request that it gets.
	tokenOnly := (&http.Request{Header: http.Header{"Authorization": r.Header.Values("Authorization")}}).WithContext(r.Context())
	response, ok, err := z.requests.AuthenticateRequest(tokenOnly)
	switch {
	case isOutage(err):
		klog.FromContext(r.Context()).Info("TokenReview failed", "reason", err.Error())
		return nil, reviewFailed(err, "authenticate", "tokenreviews.authentication.k8s.io")
	case err != nil || !ok:
		return nil, unauthorized()
	}
	return response.User, nil
}

// Attributes describe a request: a verb on a resource, or on a non-resource path.
type Attributes struct {
	// Verb of the API server: get, list, watch, delete, deletecollection.
	Verb string
	// Group, Version and Resource (the plural) name the kind.
	Group, Version, Resource string
	// Namespace is empty for all namespaces, which requires a cluster-wide permission.
	Namespace string
	// Name is empty for lists.
	Name string
	// Path, when set, makes it a request for that path; all but Verb is ignored then.
	Path string
}

// Authorize returns nil if the user has the permission. Otherwise the error is a 403 that
// names verb, resource and namespace, a 503 if the API server does not respond, or a 500 if the
// service may not create SubjectAccessReviews.
func (z *Authorizer) Authorize(ctx context.Context, u user.Info, a Attributes) error {
	decision, reason, err := z.authorizer.authorize(ctx, u, a)
	switch {
	case decision == authorizer.DecisionAllow && err == nil:
		return nil
	case err != nil:
		klog.FromContext(ctx).Info("SubjectAccessReview failed", "reason", err.Error())
		return reviewFailed(err, "authorize", "subjectaccessreviews.authorization.k8s.io")
	}
	return forbidden(u, a, reason)
}

func (a Attributes) record(u user.Info) authorizer.Attributes {
	if a.Path != "" {
		return authorizer.AttributesRecord{User: u, Verb: a.Verb, Path: a.Path}
	}
	return authorizer.AttributesRecord{
		User: u, Verb: a.Verb, APIGroup: a.Group, APIVersion: a.Version, Resource: a.Resource,
		Namespace: a.Namespace, Name: a.Name, ResourceRequest: true,
	}
}
