package access

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
)

type userKey struct{}

// UserFrom returns the user that [Authorizer.Authenticated] found; false without one.
func UserFrom(ctx context.Context) (user.Info, bool) {
	u, ok := ctx.Value(userKey{}).(user.Info)
	return u, ok
}

// Authenticated rejects requests without a valid token. It adds the user to the context
// and removes the token, so that later handlers can neither log nor forward it.
func (z *Authorizer) Authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := z.Authenticate(r)
		if err != nil {
			WriteError(w, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), userKey{}, u))
		r.Header = r.Header.Clone()
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}

// Authorized passes only requests whose user has the permission that attributes describe. It
// requires [Authorizer.Authenticated] before it; without that every request is a 401.
func (z *Authorizer) Authorized(attributes Attributes, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := z.AuthorizeRequest(r.Context(), attributes); err != nil {
			WriteError(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// AuthorizeRequest calls [Authorizer.Authorize] for the user that [Authorizer.Authenticated] added
// to ctx. It returns a 401 if ctx has no user.
func (z *Authorizer) AuthorizeRequest(ctx context.Context, a Attributes) error {
	u, ok := UserFrom(ctx)
	if !ok {
		return unauthorized()
	}
	return z.Authorize(ctx, u, a)
}
