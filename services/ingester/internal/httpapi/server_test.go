package httpapi

import (
	"context"
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestServerOverTLS starts the server of New: on loopback it has a self-signed certificate.
func TestServerOverTLS(t *testing.T) {
	var config Config
	newEnv(t, func(c *Config) { config = *c })
	config.Registerer = nil
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	errCh := make(chan error, 1)
	go func() { errCh <- server.Start(ctx) }()
	address, err := server.Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+churn, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer x")
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("status is %d", response.StatusCode)
	}
	stop()
	if err := <-errCh; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestFlagsHaveDefaults(t *testing.T) {
	o, fs := &Options{}, pflag.NewFlagSet("ingester", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse([]string{"--api-bind-address=localhost:8444"}); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil || !o.Enabled() {
		t.Errorf("enabled %v, %v", o.Enabled(), err)
	}
}

func TestStatementEndsBeforeRequest(t *testing.T) {
	for request, want := range map[time.Duration]time.Duration{30 * time.Second: 15 * time.Second, time.Hour: 20 * time.Second} {
		o := Options{}
		o.RequestTimeout = request
		if got := o.StatementTimeout(); got != want {
			t.Errorf("a request of %s has statements of %s, want %s", request, got, want)
		}
	}
}
