package gateway_test

import (
	"net/netip"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/envoy"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/gateway"
)

// image is the operator's default image, with the version that these tests run.
var image = "envoyproxy/envoy:v" + envoy.Version

func instance(name, namespace string) *v1alpha1.FireboltInstance {
	return &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
}

// configOf parses the rendered configuration like Envoy: an unknown field is an error.
func configOf(t testing.TB, i *v1alpha1.FireboltInstance) *bootstrapv3.Bootstrap {
	t.Helper()
	return configAt(t, i, netip.IPv4Unspecified())
}

func configAt(t testing.TB, i *v1alpha1.FireboltInstance, listen netip.Addr) *bootstrapv3.Bootstrap {
	t.Helper()
	o, err := gateway.Render(i, image, 2, listen)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.YAMLToJSONStrict([]byte(o.Config.Data[gateway.ConfigFile]))
	if err != nil {
		t.Fatal(err)
	}
	out := &bootstrapv3.Bootstrap{}
	if err := protojson.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func unpack[M proto.Message](t testing.TB, a *anypb.Any, into M) M {
	t.Helper()
	if err := a.UnmarshalTo(into); err != nil {
		t.Fatal(err)
	}
	return into
}

func manager(t testing.TB, l *listenerv3.Listener) *managerv3.HttpConnectionManager {
	t.Helper()
	return unpack(t, l.GetFilterChains()[0].GetFilters()[0].GetTypedConfig(), &managerv3.HttpConnectionManager{})
}

// validate validates a message and all nested or packed messages by Envoy's own rules.
// The second result is the number of packed messages.
func validate(t testing.TB, m proto.Message) (problems []string, packed int) {
	t.Helper()
	if v, ok := m.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			problems = append(problems, err.Error())
		}
	}
	visit := func(v protoreflect.Value) {
		inner := v.Message().Interface()
		if a, isAny := inner.(*anypb.Any); isAny {
			opened, err := a.UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			inner, packed = opened, packed+1
		}
		p, n := validate(t, inner)
		problems, packed = append(problems, p...), packed+n
	}
	m.ProtoReflect().Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case d.IsMap() && d.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { visit(v); return true })
		case d.IsList() && d.Message() != nil:
			for i := range v.List().Len() {
				visit(v.List().Get(i))
			}
		case !d.IsMap() && !d.IsList() && d.Message() != nil:
			visit(v)
		}
		return true
	})
	return problems, packed
}

func TestConfigPassesEnvoyValidation(t *testing.T) {
	if problems, _ := validate(t, configAt(t, instance("main", "data"), netip.IPv6Unspecified())); len(problems) > 0 {
		t.Errorf("Envoy would reject for IPv6: %s", strings.Join(problems, "; "))
	}
	config := configOf(t, instance("main", "data"))
	problems, packed := validate(t, config)
	if len(problems) > 0 {
		t.Errorf("Envoy would reject: %s", strings.Join(problems, "; "))
	}
	// Two connection managers, six filters, two of each attempt, the retry predicate, and three extensions of the
	// engines' cluster.
	if packed != 14 {
		t.Errorf("got %d packed messages, want 14", packed)
	}
	config.GetStaticResources().GetClusters()[0].GetHealthChecks()[0].Interval = nil
	if problems, _ := validate(t, config); len(problems) == 0 {
		t.Error("a health check without an interval is not detected: the test validates too little")
	}
}

func TestConfigRoutesQueries(t *testing.T) {
	l := configOf(t, instance("main", "data")).GetStaticResources().GetListeners()
	want := map[string][]string{
		"query": {
			"envoy.filters.http.health_check", "envoy.filters.http.lua",
			"envoy.filters.http.dynamic_forward_proxy", "envoy.filters.http.router",
		},
		"stats": {"envoy.filters.http.health_check", "envoy.filters.http.router"},
	}
	got, hosts := map[string][]string{}, map[string]*routev3.VirtualHost{}
	for _, l := range l {
		m := manager(t, l)
		for _, f := range m.GetHttpFilters() {
			got[l.GetName()] = append(got[l.GetName()], f.GetName())
		}
		hosts[l.GetName()] = m.GetRouteConfig().GetVirtualHosts()[0]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	// A request that the Lua filter did not change has another authority, so it has no route.
	if diff := cmp.Diff([]string{"*-service.data.svc.cluster.local:3473"}, hosts["query"].GetDomains()); diff != "" {
		t.Errorf("authorities with a route (-want +got):\n%s", diff)
	}
	route := hosts["query"].GetRoutes()[0].GetRoute()
	if route.GetTimeout() == nil || route.GetTimeout().AsDuration() != 0 {
		t.Errorf("route timeout = %v, want an explicit 0", route.GetTimeout())
	}
	retry := route.GetRetryPolicy()
	if diff := cmp.Diff("connect-failure,refused-stream,reset-before-request,retriable-headers", retry.GetRetryOn()); diff != "" {
		t.Errorf("what may have run must never run again (-want +got):\n%s", diff)
	}
	if stats := hosts["stats"].GetRoutes(); len(stats) != 1 || stats[0].GetMatch().GetPath() != "/stats/prometheus" {
		t.Errorf("the port for metrics leads to more of Envoy's own interface: %v", stats)
	}
	admin := configOf(t, instance("main", "data")).GetAdmin().GetAddress().GetSocketAddress()
	if admin.GetAddress() != "127.0.0.1" {
		t.Errorf("Envoy's own interface listens on %s", admin.GetAddress())
	}
}
