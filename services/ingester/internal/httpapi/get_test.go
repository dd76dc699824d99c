package httpapi

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func TestGetReadsClusterFirst(t *testing.T) {
	b := newEnv(t)
	b.cluster.object, b.store.object = model(7), model(6)
	expect := func(source, version string) {
		t.Helper()
		var got unstructured.Unstructured
		a := b.send(http.MethodGet, churn, "")
		b.into(a, http.StatusOK, &got)
		if a.Header.Get(sourceHeader) != source || got.GetResourceVersion() != version || got.GetName() != "churn" {
			t.Errorf("version %s from %q, want %s from %s", got.GetResourceVersion(), a.Header.Get(sourceHeader), version, source)
		}
	}
	expect(sourceCluster, "7")
	b.cluster.object = nil
	expect(sourceStorage, "6")
}

// Only "not found" in the cluster falls back to storage, and only "not found" in both is 404: a
// failure is never "not found".
func TestGetFailuresAreNotNotFound(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "models"}, "churn", errors.New("the ingester may not"))
	tests := map[string]struct {
		cluster, store error
		code           int
		reason         metav1.StatusReason
		message        string
	}{
		"neither has it":            {nil, storage.ErrNotFound, 404, metav1.StatusReasonNotFound, `models.michelangelo.api "churn" not found`},
		"the database is gone":      {nil, fmt.Errorf("read: %w", driver.ErrBadConn), 503, metav1.StatusReasonServiceUnavailable, "storage does not answer"},
		"storage is not ready":      {nil, storage.ErrNotReady, 503, metav1.StatusReasonServiceUnavailable, "storage is not ready"},
		"the database is broken":    {nil, errors.New("Error 1146: no table hunter2"), 500, metav1.StatusReasonInternalError, "see the log"},
		"the API server is gone":    {errors.New("connection refused hunter2"), nil, 503, metav1.StatusReasonServiceUnavailable, "the Kubernetes API server does not answer"},
		"the API server is busy":    {apierrors.NewTooManyRequests("busy", 1), nil, 503, metav1.StatusReasonServiceUnavailable, "the Kubernetes API server does not answer"},
		"the ingester has no right": {forbidden, nil, 500, metav1.StatusReasonInternalError, "see the log"},
		"the query is too slow":     {nil, fmt.Errorf("read: %w", storage.ErrTooSlow), 504, metav1.StatusReasonTimeout, "the query takes too long for the database: select fewer objects"},
		"the time is over":          {nil, fmt.Errorf("read: %w", context.DeadlineExceeded), 504, metav1.StatusReasonTimeout, "took too long"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newEnv(t)
			b.cluster.err, b.store.err = tc.cluster, tc.store
			a := b.send(http.MethodGet, churn, "")
			s := b.status(a, tc.code, tc.message)
			if s.Reason != tc.reason || strings.Contains(s.Message, "hunter2") {
				t.Errorf("reason %q, message %q", s.Reason, s.Message)
			}
			if (tc.code > 500) != (a.Header.Get("Retry-After") == "5") {
				t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
			}
			cause, _, _ := strings.Cut(errors.Join(tc.cluster, tc.store).Error(), " \"")
			if logged := strings.Contains(b.logged(), cause); logged != (tc.code >= 500) {
				t.Errorf("the log has the cause: %v\n%s", logged, b.logged())
			}
		})
	}
}

func TestPanicEndsOneRequestOnly(t *testing.T) {
	b := newEnv(t)
	b.store.panics = true
	b.status(b.send(http.MethodGet, churn, ""), http.StatusInternalServerError, "see the log")
	if !strings.Contains(b.logged(), "panic: runtime error") || !strings.Contains(b.logged(), "fakeStore") {
		t.Errorf("the log does not have the location: %s", b.logged())
	}
	b.store.panics = false
	b.store.object = model(1)
	if a := b.send(http.MethodGet, churn, ""); a.StatusCode != http.StatusOK {
		t.Errorf("the next status is %d", a.StatusCode)
	}
}

func TestInvalidRequestsAreNamed(t *testing.T) {
	tests := map[string]struct {
		method, path, accept string
		code                 int
		message              string
	}{
		"an unknown resource":     {"GET", root + "/namespaces/default/modells/churn", "", 404, `unknown resource "modells" of group "michelangelo.api", want one of clusters, deployments,`},
		"another path":            {"GET", "/apis/apps/v1/deployments", "", 404, `nothing is served at "/apis/apps/v1/deployments"`},
		"another method":          {"PUT", churn, "", 405, "PUT is not supported here, only GET and DELETE"},
		"an unknown method":       {"BREW", churn, "", 405, "other is not supported here"},
		"creation":                {"POST", objects, "", 405, "POST is not supported here, only GET and DELETE"},
		"a watch":                 {"GET", objects + "?watch=true", "", 400, `unknown parameter "watch", want one of orderBy, filter,`},
		"a parameter of none":     {"GET", churn + "?resourceVersion=1", "", 400, `unknown parameter "resourceVersion", want none`},
		"a parameter twice":       {"GET", objects + "?limit=1&limit=2", "", 400, `parameter "limit" is given 2 times`},
		"half an escape":          {"GET", objects + "?limit=%zz", "", 400, "the query cannot be read"},
		"a name with a slash":     {"GET", objects + "/a%2Fb", "", 400, `name "a/b" may not contain '/'`},
		"a namespace that climbs": {"GET", root + "/namespaces/%2E%2E/models/churn", "", 400, `namespace ".." may not be '..'`},
		"another language":        {"GET", churn, "text/html", 406, "only application/json is served"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newEnv(t)
			a := b.send(tc.method, tc.path, "", "Accept", tc.accept)
			b.status(a, tc.code, tc.message)
			if tc.code == http.StatusMethodNotAllowed && a.Header.Get("Allow") != "GET, DELETE" {
				t.Errorf("Allow is %q", a.Header.Get("Allow"))
			}
			if b.cluster.gets != 0 {
				t.Error("the cluster was read nevertheless")
			}
		})
	}
}

func TestAcceptHeadersOfKubectlAreServed(t *testing.T) {
	b := newEnv(t)
	b.cluster.object = model(1)
	for _, accept := range []string{
		"", "*/*", "application/*", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/yaml,application/json;q=0.5",
	} {
		if a := b.send(http.MethodGet, churn, "", "Accept", accept); a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != contentType {
			t.Errorf("%q got status %d %s", accept, a.StatusCode, a.Header.Get("Content-Type"))
		}
	}
}

func TestRequestsWithoutTokenAreUnauthorized(t *testing.T) {
	b := newEnv(t)
	b.cluster.object = model(1)
	b.token = ""
	for _, path := range []string{churn, objects, root + "/models", root + "/nonsense", pathOpenAPI, "/"} {
		b.status(b.send(http.MethodGet, path, ""), http.StatusUnauthorized, "")
	}
	if b.cluster.gets != 0 {
		t.Error("the cluster was read")
	}
}
