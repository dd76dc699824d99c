package app

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
)

// TestSetupDisablesIngesterWithoutMySQL has no manager: Setup must not add a runnable.
func TestSetupDisablesIngesterWithoutMySQL(t *testing.T) {
	for name, args := range map[string][]string{"no settings": nil, "switched off": {dsn, "--enable-metadata-storage=false"}} {
		t.Run(name, func(t *testing.T) {
			var logged []string
			rt := &service.Runtime{Log: funcr.New(func(_, text string) { logged = append(logged, text) }, funcr.Options{})}
			if err := Setup(t.Context(), rt, parse(t, args...), prometheus.NewRegistry()); err != nil {
				t.Fatal(err)
			}
			if len(logged) != 1 || !strings.Contains(logged[0], "Metadata storage not configured, skipping ingester controller setup") {
				t.Errorf("logged %q", logged)
			}
		})
	}
}

func TestCommandsRequireMySQL(t *testing.T) {
	err := parse(t).migrate(t.Context(), service.Options{}, []string{"status"})
	if err == nil || !strings.Contains(err.Error(), "set --mysql-dsn (MYSQL_DSN), or --mysql-host") {
		t.Errorf("error %v", err)
	}
}
