package httpapi

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

// limited limits the number of concurrent requests.
func limited(slots httpserver.Slots, resource string, next http.Handler) http.Handler {
	reject := func(w http.ResponseWriter, r *http.Request) { fail(w, r, tooMany(resource)) }
	return httpserver.Limited(slots, reject, next)
}

// limitedPerUser limits the number of concurrent requests of one authenticated user.
func limitedPerUser(slots *httpserver.UserSlots, resource string, next http.Handler) http.Handler {
	user := func(r *http.Request) string { return callerOf(r.Context()).GetName() }
	reject := func(w http.ResponseWriter, r *http.Request) { fail(w, r, tooMany(resource)) }
	return httpserver.LimitedPerUser(slots, user, reject, next)
}

// streaming marks the response as a stream.
func streaming(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpserver.ExchangeOf(r.Context()).Stream = true
		next.ServeHTTP(w, r)
	})
}

// caller is the authenticated user of a request, with the state of the token.
type caller struct {
	user.Info
	authenticate func(context.Context) error
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// authenticated accepts only requests with a valid token and removes the token, so that
// no later handler can log it or pass it on.
func authenticated(authorizer Authorizer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := authorizer.Authenticate(r)
		if err != nil {
			fail(w, r, err)
			return
		}
		httpserver.ExchangeOf(r.Context()).User = u.GetName()
		with := r.Clone(r.Context()) // the original keeps the token while a stream runs
		authenticate := func(ctx context.Context) error {
			_, err := authorizer.Authenticate(with.WithContext(ctx))
			return err
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{Info: u, authenticate: authenticate}))
		r.Header = r.Header.Clone()
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}
