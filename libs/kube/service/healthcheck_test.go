package service

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthcheckUsesServiceSettings(t *testing.T) {
	var requested string
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested = r.URL.Path
		w.WriteHeader(code)
		if _, err := io.WriteString(w, "[-]api failed\n"); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := strings.Cut(address, ":")
	check := func(address string) error {
		t.Helper()
		return execute(t.Context(), Spec{Name: "test-service"}, []string{"healthcheck", "--health-probe-bind-address=" + address}, io.Discard)
	}
	for _, listening := range []string{address, ":" + port, "0.0.0.0:" + port} {
		requested = ""
		if err := check(listening); err != nil || requested != "/readyz" {
			t.Errorf("at %s %q was requested: %v", listening, requested, err)
		}
	}
	code = http.StatusInternalServerError
	if err := check(address); err == nil || err.Error() != "not ready: 500 Internal Server Error: [-]api failed" {
		t.Errorf("a service that is not ready gives %v", err)
	}
	if err := check("0"); err == nil || !strings.Contains(err.Error(), "--health-probe-bind-address") {
		t.Errorf("a service without health gives %v", err)
	}
	server.Close()
	if err := check(address); err == nil {
		t.Error("got no error from a closed server")
	}
}
