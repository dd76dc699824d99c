package integration

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/app"
)

// caller uses the HTTP API of an ingester as a service account with all permissions on models.
type caller struct {
	*env
	address, token string
	client         *http.Client
}

func (b *env) caller(address string) *caller {
	b.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "ada", Namespace: b.namespace}}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "models", Namespace: b.namespace},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{api.Group}, Resources: []string{"models"}, Verbs: []string{"get", "list", "delete"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "models", Namespace: b.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: b.namespace}},
	}
	token := &authenticationv1.TokenRequest{}
	if err := b.client.Create(b.Context(), account); err != nil {
		b.Fatal(err)
	}
	if err := b.client.Create(b.Context(), role); err != nil {
		b.Fatal(err)
	}
	if err := b.client.Create(b.Context(), binding); err != nil {
		b.Fatal(err)
	}
	if err := b.client.SubResource("token").Create(b.Context(), account, token); err != nil {
		b.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	b.Cleanup(transport.CloseIdleConnections)
	return &caller{env: b, address: address, token: token.Status.Token, client: &http.Client{Transport: transport}}
}

// send sends one request and returns the code, the source (cluster or storage) and the object.
func (c *caller) send(method, path string) (code int, source string, object unstructured.Unstructured, err error) {
	url := fmt.Sprintf("https://%s/apis/%s/namespaces/%s/%s", c.address, api.GroupVersion, c.namespace, path)
	req, err := http.NewRequestWithContext(c.Context(), method, url, nil)
	if err != nil {
		return 0, "", object, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.client.Do(req)
	if err != nil {
		return 0, "", object, err
	}
	err = json.NewDecoder(res.Body).Decode(&object.Object)
	if closing := res.Body.Close(); err == nil {
		err = closing
	}
	return res.StatusCode, res.Header.Get("Flotilla-Source"), object, err
}

// answers waits until a request gets the given response.
func (c *caller) answers(method, path string, code int, source string) unstructured.Unstructured {
	c.Helper()
	var object unstructured.Unstructured
	expect.Eventually(c, expect.Long, func() error {
		gotCode, gotSource, got, err := c.send(method, path)
		if err != nil || gotCode != code || gotSource != source {
			return fmt.Errorf("%s %s: %d from %q, want %d from %q: %w", method, path, gotCode, gotSource, code, source, err)
		}
		object = got
		return nil
	})
	return object
}

// TestHTTPAPIFollowsObjectLifecycle evicts one Model and deletes another one.
func TestHTTPAPIFollowsObjectLifecycle(t *testing.T) {
	b := newEnv(t)
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	address := freeport.Address(port)
	c := b.caller(address)
	b.start(func(o *app.Options) {
		o.API.BindAddress, o.API.MaxRequests, o.API.RequestTimeout = address, 10, expect.Long
	})
	kept, ended := b.finalizer(b.create(b.model("kept"))), b.finalizer(b.create(b.model("ended")))
	b.stored(kept)
	b.stored(ended)
	c.answers(http.MethodGet, "models/kept", http.StatusOK, "cluster")
	b.patch(kept, annotation(api.ImmutableAnnotation))
	b.expectDeleted(kept)
	if got := c.answers(http.MethodGet, "models/kept", http.StatusOK, "storage"); got.GetUID() != kept.GetUID() {
		t.Errorf("storage answers with uid %s, want %s", got.GetUID(), kept.GetUID())
	}

	if code, _, _, err := c.send(http.MethodDelete, "models/ended"); err != nil || code != http.StatusAccepted {
		t.Errorf("deleting what is in the cluster: %d, %v", code, err)
	}
	b.expectDeleted(ended)
	b.row(ended, "closed", open)
	c.answers(http.MethodGet, "models/ended", http.StatusNotFound, "")
	_, _, list, err := c.send(http.MethodGet, "models?labelSelector=team%3Dgrowth")
	if err != nil {
		t.Error(err)
	}
	if items, _, err := unstructured.NestedSlice(list.Object, "items"); err != nil || len(items) != 1 {
		t.Errorf("%d models are listed, want 1: %v", len(items), err)
	}

	if code, _, _, err := c.send(http.MethodDelete, "models/kept"); err != nil || code/100 != 2 {
		t.Errorf("deleting what is in storage only: %d, %v", code, err)
	}
	b.row(kept, "closed", open)
	b.events(kept, "created", "evicted", "deleted")
	b.events(ended, "created", "deleted")
}
