package app

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
)

// TestWithoutMySQLTheIngesterStaysOffAndSaysSo has no manager: nothing may be put on it.
func TestWithoutMySQLTheIngesterStaysOffAndSaysSo(t *testing.T) {
	for name, args := range map[string][]string{"no settings": nil, "switched off": {dsn, "--enable-metadata-storage=false"}} {
		t.Run(name, func(t *testing.T) {
			var said []string
			rt := &service.Runtime{Log: funcr.New(func(_, text string) { said = append(said, text) }, funcr.Options{})}
			if err := Setup(t.Context(), rt, parse(t, args...), prometheus.NewRegistry()); err != nil {
				t.Fatal(err)
			}
			if len(said) != 1 || !strings.Contains(said[0], "Metadata storage not configured, skipping ingester controller setup") {
				t.Errorf("said %q", said)
			}
		})
	}
}

func TestCommandsThatNeedMySQLSaySo(t *testing.T) {
	err := parse(t).migrate(t.Context(), service.Options{}, []string{"status"})
	if err == nil || !strings.Contains(err.Error(), "set --mysql-dsn (MYSQL_DSN), or --mysql-host") {
		t.Errorf("error %v", err)
	}
}
