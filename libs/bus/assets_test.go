package bus_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

func verify(t *testing.T, c client, p bus.Params) []bus.Drift {
	t.Helper()
	drifts, err := bus.Verify(t.Context(), c.JetStream(), p)
	if err != nil {
		t.Fatal(err)
	}
	return drifts
}

func TestBootstrapSatisfiesVerify(t *testing.T) {
	production := bus.DefaultParams()
	production.Production = true
	tests := map[string]struct {
		params bus.Params
		check  bus.Params
		want   []bus.Drift
	}{
		"the local stack":                    {params: bus.DefaultParams(), check: bus.DefaultParams()},
		"production":                         {params: production, check: production},
		"a service that leaves sizes open":   {params: production, check: bus.Params{}},
		"a service that insists on the deny": {params: bus.DefaultParams(), check: bus.Params{Production: true}, want: denied()},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, c := bootstrapped(t)
			for range 2 {
				if err := bus.Bootstrap(t.Context(), c.JetStream(), tc.params); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, verify(t, c, tc.check)); diff != "" {
				t.Errorf("drift (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBootstrapNamesRequiredStorage(t *testing.T) {
	srv := natstest.Start(t, func(o *natstest.Options) { o.JetStreamMaxStore = 1 << 30 })
	c := connect(t, srv.URL())
	err := bus.Bootstrap(t.Context(), c.JetStream(), bus.DefaultParams())
	if err == nil || !strings.Contains(err.Error(), "the streams need 2640 MiB together") {
		t.Errorf("got %v, want an error with the storage that the streams need", err)
	}
}

func denied() []bus.Drift {
	var out []bus.Drift
	for _, stream := range []string{contract.StreamLifecycle, contract.StreamChanges} {
		for _, f := range []string{"deny_delete", "deny_purge"} {
			out = append(out, bus.Drift{Asset: stream, Field: f, Want: "true", Got: "false"})
		}
	}
	return out
}

func TestVerifyReportsAllDrift(t *testing.T) {
	_, c := bootstrapped(t)
	js := c.JetStream()
	stream, err := js.Stream(t.Context(), contract.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgsPerSubject = 5
	cfg.AllowDirect = false
	cfg.MaxBytes = 1 << 20
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), contract.StreamDeadLetters); err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteKeyValue(t.Context(), contract.BucketStatus); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: contract.BucketStatus, History: 1}); err != nil {
		t.Fatal(err)
	}
	want := []bus.Drift{
		{Asset: contract.StreamObservations, Field: "max_msgs_per_subject", Want: "1", Got: "5"},
		{Asset: contract.StreamObservations, Field: "allow_direct", Want: "true", Got: "false"},
		{Asset: contract.StreamDeadLetters, Field: "exists", Want: "true", Got: "false"},
		{Asset: contract.BucketStatus, Field: "max_msgs_per_subject", Want: "20", Got: "1"},
		{Asset: contract.BucketStatus, Field: "max_msg_size", Want: "65536", Got: "0"},
		{Asset: contract.BucketStatus, Field: "allow_msg_ttl", Want: "true", Got: "false"},
		{Asset: contract.BucketStatus, Field: "subject_delete_marker_ttl", Want: "24h0m0s", Got: "0s"},
	}
	if diff := cmp.Diff(want, verify(t, c, bus.Params{})); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
	if err := bus.Bootstrap(t.Context(), js, bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bus.Drift(nil), verify(t, c, bus.DefaultParams())); diff != "" {
		t.Errorf("drift after the bootstrap (-want +got):\n%s", diff)
	}
}

// The server removes the account's directory with the last stream, at the same time as
// the next stream is created in it.
func TestBootstrapAfterLastStreamIsDeleted(t *testing.T) {
	_, c := bootstrapped(t)
	js := c.JetStream()
	for range 10 {
		names := js.StreamNames(t.Context())
		for name := range names.Name() {
			if err := js.DeleteStream(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		if err := names.Err(); err != nil {
			t.Fatal(err)
		}
		if err := bus.Bootstrap(t.Context(), js, bus.DefaultParams()); err != nil {
			t.Fatal(err)
		}
	}
}
