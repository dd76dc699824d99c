package component_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
)

func all() *v1alpha1.SupersetSpec {
	return &v1alpha1.SupersetSpec{
		WebServer: &v1alpha1.WebServerSpec{}, CeleryWorker: &v1alpha1.CeleryWorkerSpec{},
		CeleryBeat: &v1alpha1.CeleryBeatSpec{}, CeleryFlower: &v1alpha1.CeleryFlowerSpec{},
		MCPServer: &v1alpha1.MCPServerSpec{}, WebsocketServer: &v1alpha1.WebsocketServerSpec{},
	}
}

func TestComponentTable(t *testing.T) {
	type row struct {
		Key, Name, PortName, Path string
		Port                      int32
		Python, Singleton         bool
	}
	want := []row{
		{Key: "webServer", Name: "web-server", Port: 8088, PortName: "http", Path: "/", Python: true},
		{Key: "celeryWorker", Name: "celery-worker", Python: true},
		{Key: "celeryBeat", Name: "celery-beat", Python: true, Singleton: true},
		{Key: "celeryFlower", Name: "celery-flower", Port: 5555, PortName: "http", Path: "/flower", Python: true},
		{Key: "mcpServer", Name: "mcp-server", Port: 8088, PortName: "mcp", Path: "/mcp", Python: true},
		{Key: "websocketServer", Name: "websocket-server", Port: 8080, PortName: "ws", Path: "/ws"},
	}
	var got []row
	for _, d := range component.All() {
		got = append(got, row{d.Key, d.Name, d.PortName, d.Path, d.Port, d.Python, d.Singleton})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table differs (-want +got):\n%s", diff)
	}
}

func TestComponentsUseOwnFieldAndStatus(t *testing.T) {
	if n := len(component.Enabled(all())); n != len(component.All()) {
		t.Errorf("%d components are enabled", n)
	}
	if list := component.Enabled(&v1alpha1.SupersetSpec{}); len(list) != 0 {
		t.Errorf("an empty spec enables %v", list)
	}
	for _, d := range component.All() {
		spec := &v1alpha1.SupersetSpec{}
		own := reflect.ValueOf(spec).Elem().FieldByNameFunc(func(name string) bool { return tag[v1alpha1.SupersetSpec](name) == d.Key })
		own.Set(reflect.New(own.Type().Elem()))
		if list := component.Enabled(spec); len(list) != 1 || list[0].Name != d.Name {
			t.Errorf("%s: %d components are enabled", d.Key, len(list))
		}
		status := &v1alpha1.ComponentsStatus{}
		*d.StatusRef(status) = &v1alpha1.ComponentRefStatus{Ref: "x"}
		slot := reflect.ValueOf(status).Elem().FieldByNameFunc(func(name string) bool { return tag[v1alpha1.ComponentsStatus](name) == d.Key })
		if slot.IsNil() {
			t.Errorf("%s writes to another field", d.Key)
		}
	}
}

// tag returns the JSON name of a field of T.
func tag[T any](name string) string {
	field, found := reflect.TypeFor[T]().FieldByName(name)
	if !found {
		return ""
	}
	text := field.Tag.Get("json")
	for i, r := range text {
		if r == ',' {
			return text[:i]
		}
	}
	return text
}

func TestRoutes(t *testing.T) {
	custom := "/custom"
	cases := map[string]struct{ plain, custom string }{
		"web-server":       {"/", "/"},
		"celery-worker":    {"", ""},
		"celery-beat":      {"", ""},
		"celery-flower":    {"/flower", "/custom"},
		"mcp-server":       {"/mcp", "/custom"},
		"websocket-server": {"/ws", "/custom"},
	}
	for _, d := range component.All() {
		want := cases[d.Name]
		if got := d.Route(nil); got != want.plain {
			t.Errorf("%s: path %q, want %q", d.Name, got, want.plain)
		}
		if got := d.Route(&v1alpha1.ComponentServiceSpec{GatewayPath: &custom}); got != want.custom {
			t.Errorf("%s: path %q, want %q", d.Name, got, want.custom)
		}
	}
}
