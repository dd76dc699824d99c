package resolve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

func web(edit func(*v1alpha1.SupersetSpec)) resolve.Component {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}}
	sup.Spec.Image = v1alpha1.ImageSpec{Repository: "r", Tag: "1"}
	sup.Spec.WebServer = &v1alpha1.WebServerSpec{}
	edit(&sup.Spec)
	return resolve.For(sup, resolve.Options{}).Components[0]
}

func container(t *v1alpha1.ContainerTemplate) *v1alpha1.PodTemplate {
	return &v1alpha1.PodTemplate{Container: t}
}

func TestKeyedListsMergeInPlaceAndStayUnique(t *testing.T) {
	c := web(func(s *v1alpha1.SupersetSpec) {
		s.PodTemplate = container(&v1alpha1.ContainerTemplate{
			Env:          []corev1.EnvVar{{Name: "A", Value: "top"}, {Name: "B", Value: "top"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/one"}},
			Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8088}, {ContainerPort: 9100}, {ContainerPort: 9200}},
		})
		s.WebServer.PodTemplate = container(&v1alpha1.ContainerTemplate{
			Env:          []corev1.EnvVar{{Name: "C", Value: "web"}, {Name: "A", Value: "web"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/two"}, {Name: "w", MountPath: "/one"}},
			Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 9000}, {Name: "metrics", ContainerPort: 9100, Protocol: "TCP"}},
		})
	})
	got := c.Pod.Container
	want := &v1alpha1.ContainerTemplate{
		Env:          []corev1.EnvVar{{Name: "A", Value: "web"}, {Name: "B", Value: "top"}, {Name: "C", Value: "web"}},
		VolumeMounts: []corev1.VolumeMount{{Name: "w", MountPath: "/one"}, {Name: "v", MountPath: "/two"}},
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 9000}, {Name: "metrics", ContainerPort: 9100, Protocol: "TCP"}, {ContainerPort: 9200},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged container differs (-want +got):\n%s", diff)
	}
	if c.Port() != 9000 {
		t.Errorf("port %d", c.Port())
	}
}

func TestPrecedenceOfSingleValues(t *testing.T) {
	trueValue, falseValue := true, false
	c := web(func(s *v1alpha1.SupersetSpec) {
		s.Replicas, s.BootstrapScript = new(int32(4)), new("top")
		s.PodTemplate = &v1alpha1.PodTemplate{EnableServiceLinks: &trueValue, ShareProcessNamespace: &trueValue}
		s.WebServer.PodTemplate = &v1alpha1.PodTemplate{EnableServiceLinks: &falseValue}
		s.WebServer.BootstrapScript = new("")
		s.WebServer.Image = &v1alpha1.ImageOverrideSpec{Tag: new("2")}
	})
	if c.Replicas != 4 || c.Bootstrap != "" || c.Image != "r:2" {
		t.Errorf("got %d replicas, bootstrap %q, image %s", c.Replicas, c.Bootstrap, c.Image)
	}
	if *c.Pod.EnableServiceLinks || !*c.Pod.ShareProcessNamespace {
		t.Error("the component does not override the top level")
	}
}

// TestURLsFollowTLSOfHosts checks the cookies, which a browser drops on a host without TLS if they are secure, and the links
// to the first host.
func TestURLsFollowTLSOfHosts(t *testing.T) {
	type hosts = []string
	for name, tc := range map[string]struct {
		hosts  hosts
		tls    []hosts
		secure bool
		url    string
	}{
		"no TLS":                                {hosts: hosts{"a.example.org"}, url: "http://a.example.org/"},
		"one host":                              {hosts{"a.example.org"}, []hosts{{"a.example.org"}}, true, "https://a.example.org/"},
		"an entry for all hosts":                {hosts{"a.example.org", "b.org"}, []hosts{{}}, true, "https://a.example.org/"},
		"a wildcard":                            {hosts{"a.example.org", "b.example.org"}, []hosts{{"*.example.org"}}, true, "https://a.example.org/"},
		"two entries":                           {hosts{"a.example.org", "b.org"}, []hosts{{"b.org"}, {"a.example.org"}}, true, "https://a.example.org/"},
		"a wildcard with its own certificate":   {hosts{"*.example.org"}, []hosts{{"*.example.org"}}, true, ""},
		"a first host with TLS":                 {hosts{"a.example.org", "b.org"}, []hosts{{"a.example.org"}}, false, "https://a.example.org/"},
		"a first host without TLS":              {hosts{"b.org", "a.example.org"}, []hosts{{"a.example.org"}}, false, "http://b.org/"},
		"a certificate of another host":         {hosts{"a.example.org"}, []hosts{{"b.org"}}, false, "http://a.example.org/"},
		"a wildcard with one certificate":       {hosts{"*.example.org"}, []hosts{{"a.example.org"}}, false, ""},
		"two labels instead of a wildcard":      {hosts{"a.b.example.org"}, []hosts{{"*.example.org"}}, false, "http://a.b.example.org/"},
		"a wildcard without its parent":         {hosts{"example.org"}, []hosts{{"*.example.org"}}, false, "http://example.org/"},
		"all hosts and a certificate for one":   {hosts{""}, []hosts{{"a.example.org"}}, false, ""},
		"all hosts and a certificate for these": {hosts{""}, []hosts{{}}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			listed, single := &v1alpha1.IngressSpec{Host: "ignored.org"}, &v1alpha1.IngressSpec{Host: tc.hosts[0]}
			for _, h := range tc.hosts {
				listed.Hosts = append(listed.Hosts, v1alpha1.IngressHost{Host: h})
			}
			for _, h := range tc.tls {
				listed.TLS = append(listed.TLS, networkingv1.IngressTLS{Hosts: h})
			}
			single.TLS = listed.TLS
			for _, ingress := range []*v1alpha1.IngressSpec{listed, single} {
				if ingress == single && len(tc.hosts) > 1 {
					continue
				}
				got := web(func(s *v1alpha1.SupersetSpec) { s.Networking = &v1alpha1.NetworkingSpec{Ingress: ingress} }).Python.Web
				if got.Secure != tc.secure || got.ExternalURL != tc.url || !got.Proxied {
					t.Errorf("got %+v, want secure %v and %q", got, tc.secure, tc.url)
				}
			}
		})
	}
}

// TestURLsBehindGateway checks that links use TLS and cookies do not require it: only the Gateway, which may be foreign,
// defines which of its hosts terminate TLS.
func TestURLsBehindGateway(t *testing.T) {
	for url, hosts := range map[string][]gatewayv1.Hostname{"": nil, "https://a.example.org/": {"a.example.org", "b.org"}} {
		got := web(func(s *v1alpha1.SupersetSpec) {
			s.Networking = &v1alpha1.NetworkingSpec{Gateway: &v1alpha1.GatewaySpec{Hostnames: hosts}}
		}).Python.Web
		if got.Secure || got.ExternalURL != url || !got.Proxied {
			t.Errorf("hosts %v: got %+v, want %q", hosts, got, url)
		}
	}
}
