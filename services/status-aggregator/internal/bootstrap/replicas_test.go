package bootstrap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// startCluster starts a cluster of three servers with the tag "bus" and a fourth without it, under
// the permissions of deploy/nats, and returns the address of the first one.
func startCluster(t *testing.T) string {
	t.Helper()
	users := []*natstest.User{
		{Username: "bootstrap", Password: busauth.Password, Permissions: busauth.Permissions(t, names, "bootstrap")},
		{Username: busauth.Admin, Password: busauth.Password},
	}
	const size = 4
	ports, err := freeport.Pick(2 * size) // routes, then clients
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, port := range ports[:size] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	var servers [size]*natstest.Server
	for i := range servers {
		servers[i] = natstest.Start(t, func(o *natstest.Options) {
			o.ServerName, o.Port, o.Users = fmt.Sprintf("n%d", i), ports[size+i], users
			if i != size-1 {
				o.Tags = []string{"bus"}
			}
			o.Cluster = natstest.ClusterOptions{Name: "bus", Host: "127.0.0.1", Port: ports[i]}
			o.Routes = natstest.Routes(routes...)
		})
	}
	return strings.TrimPrefix(servers[0].URL(), "nats://")
}

// Three copies on the tagged servers: created, unchanged by a second run, and updated.
func TestBootstrapWithThreeReplicas(t *testing.T) {
	address := startCluster(t)
	url := func(user string) string { return "nats://" + user + ":" + busauth.Password + "@" + address }
	var nc *nats.Conn
	expect.Eventually(t, expect.Long, func() (err error) {
		nc, err = nats.Connect(url(busauth.Admin))
		return err
	})
	t.Cleanup(nc.Close)
	admin, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error { // a cluster needs a moment to elect its leader
		_, err := admin.AccountInfo(t.Context())
		return err
	})
	bus := func(args ...string) (out string) {
		t.Helper()
		expect.Eventually(t, expect.Long, func() (err error) { // and its servers need a moment to connect
			out, err = command(t.Context(), t, url("bootstrap"), args...)
			return err
		})
		return out
	}
	bus("bootstrap", "--replicas=3", "--placement-tags=bus")
	for _, name := range assets {
		stream, err := admin.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		info := stream.CachedInfo()
		replicas := []string{info.Cluster.Leader}
		for _, r := range info.Cluster.Replicas {
			replicas = append(replicas, r.Name)
		}
		if len(replicas) != 3 || strings.Contains(strings.Join(replicas, ","), "n3") || info.Config.Replicas != 3 {
			t.Errorf("%s is on %v", name, replicas)
		}
	}
	want(t, bus("bootstrap"), append(forEachStream("up to date"), "FLOTILLA_STATUS: up to date")...)
	if out := bus("bootstrap", "--changes-max-age=24h"); !strings.Contains(out, "FLOTILLA_CHANGES: max_age changed from 168h0m0s to 24h0m0s") {
		t.Errorf("got output\n%s", out)
	}
	want(t, bus("verify", "--replicas=3", "--placement-tags=bus", "--changes-max-age=24h"), "The bus is up to date.")
	want(t, bus("consumer", "pager", "--filter="+contract.LifecyclePrefix+".prod.team-a.>"),
		"FLOTILLA_LIFECYCLE: consumer pager reads flotilla.lifecycle.v1.prod.team-a.>")
}
