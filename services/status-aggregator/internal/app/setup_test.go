package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/httpapi"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

func TestValidateNamesMissingSetting(t *testing.T) {
	err := Validate(service.Options{})
	if err == nil || !strings.Contains(err.Error(), "--nats-url") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that names --nats-url", err)
	}
	if err := Validate(service.Options{NATSURL: "nats://localhost:4222"}); err != nil {
		t.Error(err)
	}
	err = Validate(service.Options{NATSURL: "nats://localhost:4222", WatchNamespaceSelector: "shard=a"})
	if err == nil || !strings.Contains(err.Error(), "--watch-namespace-selector is not supported") {
		t.Errorf("got %v, want that the selector is not supported", err)
	}
	if spec := Spec(); spec.Name != Name || spec.Setup == nil || spec.Validate == nil || spec.CacheOptions == nil {
		t.Errorf("spec %+v is incomplete", spec.Name)
	}
}

func TestSpecValidatesAPIOptions(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "", // off
		"--api-bind-address=127.0.0.1:8446": "",
		"--api-bind-address=:8446":          "--api-cert-dir is required",
	} {
		spec := Spec()
		fs := pflag.NewFlagSet(Name, pflag.ContinueOnError)
		spec.Flags(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		err := spec.Validate(service.Options{NATSURL: "nats://localhost:4222"})
		if (err != nil) != (want != "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

func TestConfigTakesWorkersFromOptions(t *testing.T) {
	const want = 2
	if got := newConfig(&service.Runtime{Options: service.Options{Workers: want}}, registry.Set{}, false).Workers; got != want {
		t.Errorf("%d workers, want %d", got, want)
	}
}

func TestServeRequiresBindAddress(t *testing.T) {
	for _, address := range []string{"", "0"} {
		server, err := Serve(ServeConfig{Options: httpapi.Options{Options: httpserver.Options{BindAddress: address}}})
		if server != nil || err != nil {
			t.Errorf("%q: server %v, %v", address, server, err)
		}
	}
}

// serve runs a standby replica with the HTTP API, and returns its address and a token.
func (f *fixture) serve() (base, token string) {
	f.t.Helper()
	kinds, err := registry.Managed()
	if err != nil {
		f.t.Fatal(err)
	}
	mgr := f.manager(rest.CopyConfig(f.identity))
	server, err := Serve(ServeConfig{
		Manager: mgr, Bus: f.connect("standby"), Kinds: kinds, Cluster: clusterName, Clock: clock.RealClock{},
		Options:    httpapi.Options{MaxStreams: 10, Options: httpserver.Options{BindAddress: "127.0.0.1:0", MaxRequests: 10, RequestTimeout: time.Minute}},
		Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.run(mgr.Start)
	address, err := server.Address(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: "reader", Namespace: f.namespace}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	f.create(account)
	f.create(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{supersetKind.Group}, Resources: []string{"supersets"}, Verbs: []string{"get", "list"},
	}}})
	f.create(&rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: f.namespace}},
	})
	request := &authenticationv1.TokenRequest{}
	if err := f.client.SubResource("token").Create(f.t.Context(), account, request); err != nil {
		f.t.Fatal(err)
	}
	return "http://" + address, request.Status.Token
}

// A standby replica returns the same replies as the leader, from the first
// observation to the event on an open stream.
func TestStandbyServesLeaderConditions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	base, token := f.serve()
	u := f.superset("main")
	o.observe(u, 0)

	get := func(ctx context.Context, path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return http.DefaultClient.Do(r)
	}
	var d statusapi.ResourceDetail
	expect.Eventually(t, expect.Long, func() error {
		response, err := get(t.Context(), "/api/v1/namespaces/"+f.namespace+"/superset/main")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		d = statusapi.ResourceDetail{}
		if err := json.NewDecoder(response.Body).Decode(&d); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK || d.Provenance == nil || len(d.Resource.Conditions) != 7 || len(d.History) == 0 || d.Observation == nil {
			return fmt.Errorf("%d: %+v", response.StatusCode, d)
		}
		return nil
	})
	if d.Provenance.Observer.Name != "superset-operator" || d.Resource.DeployedVersion != "6.0.0" || d.Incomplete != "" {
		t.Errorf("detail %+v", d)
	}
	last := d.History[len(d.History)-1].Sequence
	ctx, cancel := context.WithTimeout(t.Context(), expect.Long)
	defer cancel()
	stream, err := get(ctx, fmt.Sprintf("/api/v1/events?since=%d", last))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	o.observe(u, 2)
	waitForAvailable(t, stream.Body, "main")
}

// waitForAvailable reads a stream up to the event Available of an object.
func waitForAvailable(t *testing.T, stream io.Reader, name string) {
	t.Helper()
	for lines := bufio.NewScanner(stream); ; {
		if !lines.Scan() {
			t.Fatalf("the stream ended: %v", lines.Err())
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		_, l, err := contract.Decode[contract.Lifecycle]([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		if l.Event == contract.EventAvailable && l.Object.Name == name {
			return
		}
	}
}
