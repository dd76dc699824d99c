package access_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"k8s.io/client-go/rest"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
)

// An authorizer passes only requests with a token and the permission to the handler.
func ExampleAuthorizer() {
	authorizer, err := access.New(&rest.Config{Host: "https://127.0.0.1:6443"}, access.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the page") })
	handler := authorizer.Authenticated(authorizer.Authorized(access.Attributes{Verb: "get", Path: "/page"}, page))

	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/page", nil))
	fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer realm="kubernetes"
}
