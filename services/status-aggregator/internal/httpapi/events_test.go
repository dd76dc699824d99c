package httpapi

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func object(namespace, name string) contract.Object {
	return contract.Object{
		GroupVersionKind: contract.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"},
		Namespace:        namespace, Name: name, UID: "uid-" + name, Generation: 1,
	}
}

// happens publishes an event and returns its id.
func (b *testEnv) happens(namespace, name string) string {
	b.Helper()
	return strconv.FormatUint(b.PublishChange(object(namespace, name), contract.EventDegraded, healthy, degraded), 10)
}

// wantEvent reads the next event.
func (f *feed) wantEvent(id, name string) {
	f.Helper()
	got, ok := f.event()
	if !ok {
		f.Fatalf("the stream ended before event %s", id)
	}
	e, l, err := contract.Decode[contract.Lifecycle]([]byte(got.data))
	if err != nil {
		f.Fatal(err)
	}
	if got.id != id || l.Object.Name != name || e.Type != contract.TypeLifecycle {
		f.Errorf("got event %s of %s, want %s of %s", got.id, l.Object.Name, id, name)
	}
}

// waitForEnd waits for the end of a stream and for the count of its cause.
func (f *feed) waitForEnd(cause string) {
	f.Helper()
	for {
		if _, ok := f.next(); !ok {
			break
		}
	}
	f.checkCounter(cause)
}

func (b *testEnv) checkCounter(cause string) {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		want := fmt.Sprintf("# HELP flotilla_status_api_streams_ended_total Streams of events that ended, by cause: client, slow, bus, rights, shutdown.\n"+
			"# TYPE flotilla_status_api_streams_ended_total counter\nflotilla_status_api_streams_ended_total{cause=%q} 1\n", cause)
		return testutil.GatherAndCompare(b.registry, strings.NewReader(want), "flotilla_status_api_streams_ended_total")
	})
}

func TestEventsStreamLive(t *testing.T) {
	b := newTestEnv(t)
	otherNamespace := cluster.Get(t).Namespace(t)
	b.login("ada", b.Namespace)
	b.happens(b.Namespace, "before")
	b.WaitForHub(b.Hub)
	f := b.follow("")
	if got := f.Header.Get("Content-Type"); got != contentStream {
		t.Errorf("the stream is %q", got)
	}
	first, _ := f.next()
	if first.id != "1" || first.retry == "" || first.data != "" {
		t.Errorf("the stream begins with %+v", first)
	}
	b.happens(otherNamespace, "hidden")
	id := b.happens(b.Namespace, "main")
	f.wantEvent(id, "main")
	// The heartbeat advances past events that the caller may not read.
	forbidden := b.happens(otherNamespace, "hidden")
	expect.Eventually(t, expect.Long, func() error {
		if got := f.nextHeartbeat(); got.id != forbidden || got.data != "" {
			return fmt.Errorf("beat %+v", got)
		}
		return nil
	})
	f.close()
	b.checkCounter(endClient)
}

func TestEventsResume(t *testing.T) {
	b := newTestEnv(t)
	b.login("ada", b.Namespace)
	one, two, three := b.happens(b.Namespace, "one"), b.happens(b.Namespace, "two"), b.happens(b.Namespace, "three")
	for name, f := range map[string]*feed{
		"by header":                      b.follow("", "Last-Event-ID", one),
		"by parameter":                   b.follow("?since=" + one),
		"the header wins":                b.follow("?since="+two, "Last-Event-ID", one),
		"one object":                     b.follow("?name=three&namespace=" + b.Namespace + "&since=0"),
		"from the beginning to its kind": b.follow("?since=2&kind=superset"),
	} {
		if strings.HasPrefix(name, "by") || strings.HasPrefix(name, "the") {
			f.wantEvent(two, "two")
		}
		f.wantEvent(three, "three")
		f.close()
	}
	f := b.follow("?since=" + one + "&name=two&namespace=" + b.Namespace)
	f.wantEvent(two, "two")
	if got, _ := f.next(); got != (block{id: three}) {
		t.Errorf("the replay ends with %+v, want the position %s", got, three)
	}
	b.wantError(b.get(statusapi.PathEvents, "Last-Event-ID", "99"), http.StatusGone, "Gone", "it ends at 3")
	stream, err := b.JetStream().Stream(t.Context(), contract.StreamLifecycle)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(3)); err != nil {
		t.Fatal(err)
	}
	b.wantError(b.get(statusapi.PathEvents+"?since=1"), http.StatusGone, "Gone", "read the resources again")
	b.follow("?since=2").wantEvent(three, "three")
}

func TestEventsEndOnRevokedPermission(t *testing.T) {
	b := newTestEnv(t)
	otherNamespace := cluster.Get(t).Namespace(t)
	granted := b.login("ada", b.Namespace, otherNamespace)
	all, filtered := b.follow(""), b.follow("?namespace="+otherNamespace)
	all.wantEvent(b.happens(otherNamespace, "main"), "main")
	filtered.wantEvent("1", "main")
	if err := b.Client.Delete(t.Context(), granted[2]); err != nil {
		t.Fatal(err)
	}
	filtered.waitForEnd(endPermission) // the permission for its namespace was revoked
	b.happens(otherNamespace, "hidden")
	all.wantEvent(b.happens(b.Namespace, "mine"), "mine") // it continues with the remaining namespace
	if a := b.get(statusapi.PathEvents + "?namespace=" + otherNamespace); a.StatusCode != http.StatusForbidden {
		t.Errorf("a new stream is %d", a.StatusCode)
	}
}

func TestEventsEndOnInvalidToken(t *testing.T) {
	b := newTestEnv(t)
	granted := b.login("ada", b.Namespace)
	f := b.follow("")
	if err := b.Client.Delete(t.Context(), granted[0]); err != nil {
		t.Fatal(err)
	}
	f.waitForEnd(endPermission)
}

func TestBusOutageReturns503ForEventsOnly(t *testing.T) {
	b := newTestEnv(t)
	b.Superset("main", available)
	b.login("ada", b.Namespace)
	f := b.follow("")
	b.NATS.Stop()
	f.waitForEnd(endBus)
	a := b.get(statusapi.PathEvents)
	b.wantError(a, http.StatusServiceUnavailable, "Unavailable", "the bus does not respond")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After header")
	}
	b.listed("", "main")
	if d := decode[statusapi.ResourceDetail](b, b.get(b.path(b.Namespace, "main"))); d.Incomplete == "" || len(d.Resource.Conditions) != 1 {
		t.Errorf("detail %+v", d)
	}
	b.NATS.Start()
	b.WaitForHub(b.Hub)
	b.follow("").wantEvent(b.happens(b.Namespace, "main"), "main")
}

func TestEventsLimitStreams(t *testing.T) {
	b := newTestEnv(t, func(_ *testEnv, c *Config) { c.Options.MaxStreams = 1 })
	b.login("ada", b.Namespace)
	f := b.follow("")
	b.wantError(b.get(statusapi.PathEvents), http.StatusTooManyRequests, "TooManyRequests", "too many streams")
	f.close()
	b.checkCounter(endClient)
	expect.Eventually(t, expect.Long, b.admitted)
}

// The streams of one user, even without events, do not occupy all slots.
func TestEventsLimitStreamsPerUser(t *testing.T) {
	const perUser = 2
	b := newTestEnv(t, func(_ *testEnv, c *Config) { c.Options.MaxStreams, c.Options.MaxStreamsPerUser = perUser+1, perUser })
	b.login("greedy", b.Namespace)
	var held []*feed
	for range perUser {
		held = append(held, b.follow(""))
	}
	b.wantError(b.get(statusapi.PathEvents), http.StatusTooManyRequests, "TooManyRequests", "too many streams of one user")
	limitedToken := b.token
	b.login("ada", b.Namespace)
	// The rejected request returns the common slot shortly after its response.
	expect.Eventually(t, expect.Long, b.admitted)
	b.follow("").wantEvent(b.happens(b.Namespace, "main"), "main")
	b.token = limitedToken
	held[0].close()
	expect.Eventually(t, expect.Long, b.admitted)
}

// admitted returns nil if another stream is accepted.
func (b *testEnv) admitted() error {
	response, err := b.client.Do(b.request(http.MethodHead, statusapi.PathEvents))
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the next stream is %d", response.StatusCode)
	}
	return nil
}

func TestShutdownEndsStreamsCleanly(t *testing.T) {
	b := newTestEnv(t)
	b.login("ada", b.Namespace)
	f := b.follow("")
	id := b.happens(b.Namespace, "main")
	f.wantEvent(id, "main")
	b.stop() // fails the test if the streams block the shutdown
	f.waitForEnd(endShutdown)
	if err := f.lines.Err(); err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
}

// A reader that does not read is disconnected while the others receive all events, and may resume.
func TestEventsDisconnectSlowReader(t *testing.T) {
	b := newTestEnv(t, func(b *testEnv, c *Config) { c.Hub = b.NewHub(5) })
	b.login("ada", b.Namespace)
	// The buffers of the connection are smaller than the following events.
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}), err)
	}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	fast := b.follow("")
	b.client = &http.Client{Transport: transport}
	slow := b.follow("")
	slow.lines.Buffer(nil, 1<<20)
	fast.lines.Buffer(nil, 1<<20)
	longEvent := degraded
	longEvent.Message = strings.Repeat("x", 32<<10)
	const events = 400
	for range events {
		id := b.PublishChange(object(b.Namespace, "main"), contract.EventDegraded, healthy, longEvent)
		fast.wantEvent(strconv.FormatUint(id, 10), "main")
	}
	last := 0
	for {
		got, ok := slow.event()
		if !ok {
			break
		}
		if got.id != strconv.Itoa(last+1) {
			t.Fatalf("got %s behind %d", got.id, last)
		}
		last++
	}
	if last == 0 || last == events {
		t.Fatalf("was sent %d of %d events", last, events)
	}
	b.checkCounter(endSlow)
	resumed := b.follow("?since=" + strconv.Itoa(last))
	resumed.lines.Buffer(nil, 1<<20)
	resumed.wantEvent(strconv.Itoa(last+1), "main")
}
