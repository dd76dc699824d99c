package resolve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

func fromInt(n int) intstr.IntOrString { return intstr.FromInt(n) }

// contradiction is a case with the paths of its violations.
type contradiction struct {
	edit func(*v1alpha1.SupersetSpec)
	want []string
}

func checkContradictions(t *testing.T, cases map[string]contradiction) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: v1alpha1.SupersetSpec{WebServer: &v1alpha1.WebServerSpec{}}}
			tc.edit(&sup.Spec)
			if diff := cmp.Diff(tc.want, paths(t, sup)); diff != "" {
				t.Errorf("paths differ (-want +got):\n%s", diff)
			}
		})
	}
}

// websocketServer returns an edit of a Superset with a valid websocket server.
func websocketServer(edit func(*v1alpha1.WebsocketServerSpec)) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) {
		s.WebsocketServer = &v1alpha1.WebsocketServerSpec{}
		s.WebsocketServer.Image = &v1alpha1.ImageOverrideSpec{Repository: new("r")}
		edit(s.WebsocketServer)
	}
}

func TestW13ContradictionsOfWebsocketServerAreReported(t *testing.T) {
	checkContradictions(t, map[string]contradiction{
		"a websocket server without an image": {
			edit: websocketServer(func(w *v1alpha1.WebsocketServerSpec) { w.Image = nil }),
			want: []string{"spec.websocketServer.image.repository"},
		},
		"a websocket server with an empty repository": {
			edit: websocketServer(func(w *v1alpha1.WebsocketServerSpec) { w.Image.Repository = new("") }),
			want: []string{"spec.websocketServer.image.repository"},
		},
		"two configurations of the websocket server": {
			edit: websocketServer(func(w *v1alpha1.WebsocketServerSpec) {
				w.Config, w.ConfigFrom = &runtime.RawExtension{Raw: []byte(`{}`)}, &corev1.SecretKeySelector{}
			}),
			want: []string{"spec.websocketServer.config"},
		},
		"a list as configuration": {
			edit: websocketServer(func(w *v1alpha1.WebsocketServerSpec) { w.Config = &runtime.RawExtension{Raw: []byte(`[1]`)} }),
			want: []string{"spec.websocketServer.config"},
		},
		"a valid websocket server": {
			edit: websocketServer(func(w *v1alpha1.WebsocketServerSpec) { w.Config = &runtime.RawExtension{Raw: []byte(` {"a": 1}`)} }),
		},
	})
}

// mcpServer returns an edit that adds an MCP server with a path and a command.
func mcpServer(path string, command []string) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) {
		s.MCPServer = &v1alpha1.MCPServerSpec{Service: &v1alpha1.ComponentServiceSpec{GatewayPath: &path}}
		s.MCPServer.PodTemplate = &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{Command: command}}
	}
}

func TestW13ContradictionsOfNetworkAreReported(t *testing.T) {
	service := func(kind corev1.ServiceType, nodePort int32) *v1alpha1.ComponentServiceSpec {
		return &v1alpha1.ComponentServiceSpec{Type: kind, NodePort: &nodePort}
	}
	checkContradictions(t, map[string]contradiction{
		"an Ingress without a host": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.Networking = &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{}}
			},
			want: []string{"spec.networking.ingress"},
		},
		"an Ingress with hosts": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.Networking = &v1alpha1.NetworkingSpec{Ingress: &v1alpha1.IngressSpec{Hosts: []v1alpha1.IngressHost{{Host: "h"}}}}
			},
		},
		"a node port without a type": {
			edit: func(s *v1alpha1.SupersetSpec) { s.WebServer.Service = service(corev1.ServiceTypeClusterIP, 30001) },
			want: []string{"spec.webServer.service.nodePort"},
		},
		"one node port for two": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.WebServer.Service = service(corev1.ServiceTypeNodePort, 30001)
				s.MCPServer = &v1alpha1.MCPServerSpec{Service: service(corev1.ServiceTypeLoadBalancer, 30001)}
			},
			want: []string{"spec.mcpServer.service.nodePort"},
		},
		"a path that the MCP server does not answer at": {
			edit: mcpServer("/tools/mcp", nil),
			want: []string{"spec.mcpServer.service.gatewayPath"},
		},
		"the path of the MCP server":              {edit: mcpServer("/mcp", nil)},
		"the path of the MCP server with a slash": {edit: mcpServer("/mcp/", nil)},
		"no path of the MCP server":               {edit: mcpServer("", nil)},
		"another path of another program":         {edit: mcpServer("/tools/mcp", []string{"serve"})},
		"another path and a command that no component inherits": {
			edit: func(s *v1alpha1.SupersetSpec) {
				mcpServer("/tools/mcp", nil)(s)
				s.PodTemplate = &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{Command: []string{"serve"}}}
			},
			want: []string{"spec.mcpServer.service.gatewayPath"},
		},
		"an invalid port": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.WebServer.Service = &v1alpha1.ComponentServiceSpec{Port: new(int32(70000))}
				s.Valkey = &v1alpha1.ValkeySpec{Host: "h", Port: new(int32(0))}
				s.Metastore = &v1alpha1.MetastoreSpec{Port: new(int32(-1))}
			},
			want: []string{"spec.webServer.service.port", "spec.metastore.port", "spec.valkey.port"},
		},
	})
}

func TestW13ContradictionsOfWorkloadsAreReported(t *testing.T) {
	checkContradictions(t, map[string]contradiction{
		"a maximum below the minimum, from the top level": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.CeleryBeat = &v1alpha1.CeleryBeatSpec{}
				s.Autoscaling = &v1alpha1.AutoscalingSpec{MinReplicas: new(int32(3)), MaxReplicas: 2}
			},
			want: []string{"spec.webServer.autoscaling.maxReplicas"},
		},
		"a budget with two bounds": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.WebServer.PodDisruptionBudget = &v1alpha1.PDBSpec{MinAvailable: new(fromInt(1)), MaxUnavailable: new(fromInt(1))}
			},
			want: []string{"spec.webServer.podDisruptionBudget"},
		},
		"a strategy that contradicts itself": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.CeleryBeat = &v1alpha1.CeleryBeatSpec{}
				s.DeploymentTemplate = &v1alpha1.DeploymentTemplate{Strategy: &appsv1.DeploymentStrategy{
					Type: appsv1.RecreateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{},
				}}
			},
			want: []string{"spec.webServer.deploymentTemplate.strategy.rollingUpdate"},
		},
		"two containers of one name": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.PodTemplate = &v1alpha1.PodTemplate{Sidecars: []corev1.Container{{Name: "a"}}}
				s.WebServer.PodTemplate = &v1alpha1.PodTemplate{InitContainers: []corev1.Container{{Name: "a"}}}
			},
			want: []string{"spec.webServer.podTemplate"},
		},
		"containers that are omitted anyway": {
			edit: func(s *v1alpha1.SupersetSpec) {
				reserved := []corev1.Container{{Name: "superset"}}
				s.PodTemplate = &v1alpha1.PodTemplate{Sidecars: reserved, InitContainers: reserved}
			},
		},
	})
}

func TestW13ContradictionsAreReported(t *testing.T) {
	checkContradictions(t, map[string]contradiction{
		"nothing": {edit: func(*v1alpha1.SupersetSpec) {}},
		"threads of sync workers": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.WebServer.Gunicorn = &v1alpha1.GunicornSpec{Threads: new(int32(2)), WorkerClass: new("sync")}
			},
			want: []string{"spec.webServer.gunicorn.threads"},
		},
		"limits per child without prefork": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.CeleryWorker = &v1alpha1.CeleryWorkerSpec{Celery: &v1alpha1.CeleryWorkerProcessSpec{
					Pool: new("gevent"), MaxTasksPerChild: new(int32(1)), MaxMemoryPerChild: new(int32(1)),
				}}
			},
			want: []string{"spec.celeryWorker.celery.maxTasksPerChild", "spec.celeryWorker.celery.maxMemoryPerChild"},
		},
		"an incomplete metastore": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Metastore = &v1alpha1.MetastoreSpec{Host: new("h")} },
			want: []string{"spec.metastore.host"},
		},
		"a name of a database that is not its name in a URI": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Metastore = metastore("what?") },
			want: []string{"spec.metastore.database"},
		},
		"a name of a database that ends a password": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Metastore = metastore("bi@example") },
			want: []string{"spec.metastore.database"},
		},
		"all other characters in the name of a database": {
			edit: func(s *v1alpha1.SupersetSpec) { s.Metastore = metastore("acme$%24/#&=+: \"'\\;[]ü") },
		},
		"a cache server without a host, and a negative database": {
			edit: func(s *v1alpha1.SupersetSpec) {
				s.Valkey = &v1alpha1.ValkeySpec{CeleryBroker: &v1alpha1.ValkeyCelerySpec{Database: new(int32(-1))}}
			},
			want: []string{"spec.valkey.host", "spec.valkey"},
		},
	})
}

func metastore(database string) *v1alpha1.MetastoreSpec {
	return &v1alpha1.MetastoreSpec{Host: new("h"), Database: &database, Username: new("u")}
}

// paths returns the path of each violation, and checks that it has a fix.
func paths(t *testing.T, sup *v1alpha1.Superset) []string {
	t.Helper()
	var out []string
	for _, text := range resolve.Validate(sup) {
		path, fix, found := strings.Cut(text, ": ")
		if !found || len(fix) < 20 {
			t.Errorf("%q contains no fix", text)
		}
		out = append(out, path)
	}
	return out
}

func TestViolationsReportTooLongNames(t *testing.T) {
	disabled := new(true)
	withoutLifecycle := func(s *v1alpha1.SupersetSpec) { s.Lifecycle = &v1alpha1.LifecycleSpec{Disabled: disabled} }
	cases := map[string]struct {
		maxLength int
		edit      func(*v1alpha1.SupersetSpec)
	}{
		"webServer":    {52, func(s *v1alpha1.SupersetSpec) { withoutLifecycle(s); s.WebServer = &v1alpha1.WebServerSpec{} }},
		"celeryWorker": {49, func(s *v1alpha1.SupersetSpec) { withoutLifecycle(s); s.CeleryWorker = &v1alpha1.CeleryWorkerSpec{} }},
		"celeryBeat":   {51, func(s *v1alpha1.SupersetSpec) { withoutLifecycle(s); s.CeleryBeat = &v1alpha1.CeleryBeatSpec{} }},
		"celeryFlower": {49, func(s *v1alpha1.SupersetSpec) { withoutLifecycle(s); s.CeleryFlower = &v1alpha1.CeleryFlowerSpec{} }},
		"mcpServer":    {52, func(s *v1alpha1.SupersetSpec) { withoutLifecycle(s); s.MCPServer = &v1alpha1.MCPServerSpec{} }},
		"maintenancePage": {46, func(s *v1alpha1.SupersetSpec) {
			withoutLifecycle(s)
			s.Lifecycle.MaintenancePage = &v1alpha1.MaintenancePageSpec{}
		}},
		"migrate": {48, func(*v1alpha1.SupersetSpec) {}},
		"rotate": {49, func(s *v1alpha1.SupersetSpec) {
			s.Lifecycle = &v1alpha1.LifecycleSpec{
				Migrate: &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{Disabled: disabled}}, Rotate: &v1alpha1.RotateTaskSpec{},
			}
		}},
		"init": {51, func(s *v1alpha1.SupersetSpec) {
			s.Lifecycle = &v1alpha1.LifecycleSpec{Migrate: &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{Disabled: disabled}}}
		}},
		"websocketServer": {46, func(s *v1alpha1.SupersetSpec) {
			withoutLifecycle(s)
			s.WebsocketServer = &v1alpha1.WebsocketServerSpec{}
			s.WebsocketServer.Image = &v1alpha1.ImageOverrideSpec{Repository: new("r")}
		}},
	}
	for path, tc := range cases {
		t.Run(path, func(t *testing.T) {
			for extra, want := range map[int]bool{0: false, 1: true} {
				sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", tc.maxLength+extra)}}
				tc.edit(&sup.Spec)
				got := resolve.Validate(sup)
				rejected := len(got) == 1 && strings.HasPrefix(got[0], "metadata.name: ") && strings.Contains(got[0], path+" is enabled")
				if rejected != want || !want && len(got) > 0 {
					t.Errorf("a name of %d characters: %v", tc.maxLength+extra, got)
				}
			}
		})
	}
}

// TestViolationsHoldNoSecrets checks the texts that conditions and events contain.
func TestViolationsHoldNoSecrets(t *testing.T) {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", 63)}}
	secret := "very-secret"
	sup.Spec = v1alpha1.SupersetSpec{
		SecretKey: &secret, PreviousSecretKey: &secret,
		Metastore:       &v1alpha1.MetastoreSpec{Host: new("h"), Password: &secret, URI: &secret, Port: new(int32(0))},
		Valkey:          &v1alpha1.ValkeySpec{Password: &secret},
		WebsocketServer: &v1alpha1.WebsocketServerSpec{Config: &runtime.RawExtension{Raw: []byte(`"very-secret"`)}},
	}
	got := resolve.Validate(sup)
	if len(got) < 5 {
		t.Errorf("only %d violations", len(got))
	}
	if strings.Contains(strings.Join(got, "\n"), secret) {
		t.Errorf("violations contain a secret: %v", got)
	}
}
