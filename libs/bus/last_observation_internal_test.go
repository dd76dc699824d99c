package bus

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// With a failure taken for an empty stream, an operator whose clock was set back would start a lower epoch.
func TestLastEpochDistinguishesFailureFromEmptyStream(t *testing.T) {
	tests := map[string]struct {
		status, description string
		failed              bool
	}{
		"no message":         {"404", "Message Not Found", false},
		"a rejected request": {"408", "Bad Request", true},
		"an older server":    {"412", "Required Api Level", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			srv := natstest.Start(t, func(o *natstest.Options) { o.JetStream = false })
			respond(t, srv.URL(), tc.status, tc.description)
			c, err := Connect(Config{URL: srv.URL(), Name: "tester"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			filter := contract.ObservationPrefix + ".prod.*.*.*.tester"
			if epoch, err := c.lastEpoch(filter); epoch != 0 || (err != nil) != tc.failed {
				t.Errorf("epoch is %d with error %v", epoch, err)
			}
		})
	}
}

// respond replies to requests for the stream of observations, and to those for a message of it with a status.
func respond(t *testing.T, url, status, description string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	info, err := json.Marshal(jetstream.StreamInfo{Config: jetstream.StreamConfig{Name: contract.StreamObservations, AllowDirect: true}})
	if err != nil {
		t.Fatal(err)
	}
	for subject, reply := range map[string]*nats.Msg{
		"$JS.API.STREAM.INFO." + contract.StreamObservations:       {Data: info},
		"$JS.API.DIRECT.GET." + contract.StreamObservations + ".>": {Header: nats.Header{"Status": {status}, "Description": {description}}},
	} {
		if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
			if err := m.RespondMsg(reply); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}
