package statusclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statusclient"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statustest"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func clientOf(t *testing.T, address, token string) *statusclient.Client {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return statusclient.New(base, bearer{token})
}

func object(name string) contract.Object {
	gvk, _ := contract.Lookup(contract.Superset)
	return contract.Object{GroupVersionKind: gvk, Namespace: "team-a", Name: name, UID: "uid-" + name, Generation: 3}
}

func detail(name string) statusapi.ResourceDetail {
	return statusapi.ResourceDetail{Resource: statusapi.Resource{
		Cluster: "test", Kind: contract.Superset, Object: object(name), Phase: "Running", Conditions: []contract.Condition{},
	}}
}

func event(sequence uint64, name string) statustest.Event {
	return statustest.Event{
		Sequence: sequence, Time: time.Date(2026, 3, 1, 12, 0, int(sequence), 0, time.UTC),
		Lifecycle: contract.Lifecycle{Object: object(name), Event: contract.EventDegraded, Condition: &contract.ConditionChange{
			Type: "Degraded", After: contract.Condition{Type: "Degraded", Status: "True", Reason: "CrashLoop"},
		}},
	}
}

func TestResourcesReadsAllPages(t *testing.T) {
	s := statustest.Start(t)
	s.Add(2, detail("a"), detail("b"), detail("c"), detail("d"), detail("e"))
	got, err := clientOf(t, s.URL, statustest.Token).Resources(t.Context(), statusclient.Filter{
		Namespace: "team-a", Kind: contract.Superset, Conditions: []string{"Degraded=True", "Available"},
	})
	if err != nil || len(got) != 5 || got[4].Object.Name != "e" {
		t.Fatalf("got %v, %v", got, err)
	}
	first := s.Requests()[0].URL.Query()
	if diff := cmp.Diff(url.Values{"namespace": {"team-a"}, "kind": {"superset"}, "condition": {"Degraded=True", "Available"}}, first); diff != "" {
		t.Error(diff)
	}
}

func TestResourceReturnsLatestHistory(t *testing.T) {
	s := statustest.Start(t)
	s.Add(9, detail("a"))
	s.Publish(event(1, "a"), event(2, "b"), event(3, "a"), event(4, "a"))
	got, err := clientOf(t, s.URL, statustest.Token).Resource(t.Context(), contract.Superset, "team-a", "a", 2)
	if err != nil || len(got.History) != 2 || got.History[0].Sequence != 3 || !got.HistoryTruncated {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestRefusedReturnsAPIError(t *testing.T) {
	s := statustest.Start(t)
	s.Add(9, detail("a"))
	_, err := clientOf(t, s.URL, "another").Resource(t.Context(), contract.Superset, "team-a", "a", 0)
	if apiErr := statusclient.Refused(err); apiErr == nil || apiErr.Status != http.StatusUnauthorized || apiErr.Code != "Unauthorized" {
		t.Errorf("got %v", err)
	}
	_, err = clientOf(t, s.URL, statustest.Token).Resource(t.Context(), contract.Superset, "team-a", "x/../a", 0)
	if apiErr := statusclient.Refused(err); apiErr == nil || apiErr.Status != http.StatusNotFound {
		t.Errorf("a name with slashes must stay one name, got %v", err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }))
	defer proxy.Close()
	if err := clientOf(t, proxy.URL, "").Check(t.Context()); statusclient.Refused(err) == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("got %v", err)
	}
	if err := clientOf(t, "http://127.0.0.1:1", "").Check(t.Context()); err == nil || statusclient.Refused(err) != nil {
		t.Errorf("an unreachable API rejects nothing, got %v", err)
	}
}

func TestClientFollowsNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	if err := clientOf(t, s.URL, statustest.Token).Check(t.Context()); err == nil {
		t.Error("a redirect was accepted")
	}
}

var errStop = errors.New("enough")

// collect reads the stream until n events were received.
func collect(t *testing.T, c *statusclient.Client, f statusclient.Follower, n int) ([]uint64, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []uint64
	err := c.Follow(ctx, f, func(e statusclient.Event) error {
		got = append(got, e.Sequence)
		if len(got) == n {
			return errStop
		}
		return nil
	})
	return got, err
}

func TestFollowResumesWithoutLossOrDuplicates(t *testing.T) {
	s := statustest.Start(t)
	s.Publish(event(1, "a"), event(2, "a"), event(3, "a"))
	connections := 0
	since := uint64(1)
	f := statusclient.Follower{Since: &since, MinBackoff: time.Millisecond}
	f.Connected = func() {
		connections++
		if connections < 5 {
			next := uint64(2 + 2*connections)
			s.Publish(event(next, "a"), event(next+1, "a"))
			s.Disconnect()
		}
	}
	got, err := collect(t, clientOf(t, s.URL, statustest.Token), f, 10)
	if !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, got); diff != "" {
		t.Error(diff)
	}
	if connections < 2 {
		t.Errorf("%d connections: the stream was not resumed", connections)
	}
}

// TestFollowResumesFromStart loses the connection before the first event: the server has sent the current position.
func TestFollowResumesFromStart(t *testing.T) {
	s := statustest.Start(t)
	s.Publish(event(1, "a"), event(2, "a"))
	connections := 0
	f := statusclient.Follower{MinBackoff: time.Millisecond}
	f.Connected = func() {
		if connections++; connections == 1 {
			s.Disconnect()
		}
	}
	f.OnError = func(error) { s.Publish(event(3, "a")) } // published without a connection
	got, err := collect(t, clientOf(t, s.URL, statustest.Token), f, 1)
	if !errors.Is(err, errStop) || got[0] != 3 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFollowFiltersNewEvents(t *testing.T) {
	s := statustest.Start(t)
	s.Publish(event(1, "a"))
	f := statusclient.Follower{Filter: statusclient.Filter{Namespace: "team-a", Kind: contract.Superset, Name: "b"}}
	f.Connected = func() { s.Publish(event(2, "a"), event(3, "b")) }
	got, err := collect(t, clientOf(t, s.URL, statustest.Token), f, 1)
	if !errors.Is(err, errStop) || got[0] != 3 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFollowStopsOnlyOnPermanentError(t *testing.T) {
	for status, final := range map[int]bool{
		http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusGone: true, http.StatusBadRequest: true,
		http.StatusServiceUnavailable: false, http.StatusTooManyRequests: false,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			s := statustest.Start(t)
			s.Publish(event(1, "a"))
			s.Fail(status, "Code", "As the test says.")
			since, failures := uint64(0), 0
			f := statusclient.Follower{Since: &since, MinBackoff: time.Millisecond, OnError: func(error) {
				if failures++; failures == 3 {
					s.Fail(0, "", "")
				}
			}}
			_, err := collect(t, clientOf(t, s.URL, statustest.Token), f, 1)
			if apiErr := statusclient.Refused(err); final != (apiErr != nil) {
				t.Errorf("final is %t, got %v", final, err)
			}
			if !final && !errors.Is(err, errStop) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFollowReportsExpiredEvents(t *testing.T) {
	s := statustest.Start(t)
	s.Publish(event(7, "a"))
	s.Expire(7)
	since := uint64(3)
	_, err := collect(t, clientOf(t, s.URL, statustest.Token), statusclient.Follower{Since: &since}, 1)
	if apiErr := statusclient.Refused(err); apiErr == nil || apiErr.Code != "Gone" {
		t.Errorf("got %v", err)
	}
}

// TestFollowReportsEndOfReplay covers both kinds of servers: one sends its position after the replay, the other only heartbeats.
func TestFollowReportsEndOfReplay(t *testing.T) {
	for _, end := range []string{"id: 3\n\n", ": heartbeat\nid: 3\n\n"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "retry: 3000\nid: 1\n\nid: 2\ndata: nonsense\n\n"+end)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		f := statusclient.Follower{
			Connected: func() { got = append(got, "connected") },
			CaughtUp:  func() { got = append(got, "caught up") },
			OnError: func(err error) {
				if got = append(got, err.Error()); len(got) > 3 {
					cancel()
				}
			},
		}
		err := clientOf(t, s.URL, "").Follow(ctx, f, func(statusclient.Event) error { return nil })
		s.Close()
		if !errors.Is(err, context.Canceled) || len(got) != 4 || got[0] != "connected" || !strings.HasPrefix(got[1], "event 2: ") ||
			got[2] != "caught up" || got[3] != "the stream ended" {
			t.Errorf("got %v and %q", err, got)
		}
	}
}

func TestFollowReconnectsIdleConnection(t *testing.T) {
	connections := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections++
		w.(http.Flusher).Flush()
		if connections == 1 {
			<-r.Context().Done() // sends nothing
			return
		}
		fmt.Fprint(w, "id: 5\ndata: nonsense\n\n: comment\n\nid: x\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var failures []string
	f := statusclient.Follower{IdleTimeout: 300 * time.Millisecond, MinBackoff: time.Millisecond, OnError: func(err error) {
		failures = append(failures, err.Error())
		if len(failures) == 3 {
			cancel()
		}
	}}
	err := clientOf(t, s.URL, "").Follow(ctx, f, func(statusclient.Event) error { return errors.New("nothing is an event here") })
	if !errors.Is(err, context.Canceled) || len(failures) != 3 || !strings.Contains(failures[0], "no data received for 300ms") ||
		!strings.Contains(failures[1], "malformed event") || !strings.Contains(failures[2], `event id "x"`) {
		t.Errorf("got %v and %q", err, failures)
	}
}

// The test detects fields that are lost in decoding.
func TestDecodingKeepsAllFields(t *testing.T) {
	s := statustest.Start(t)
	want := detail("a")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want.Resource.UpdatedAt, want.Resource.DeployedVersion = &at, "6.0.0"
	want.Provenance = &contract.Provenance{Observer: contract.Observer{Name: "superset-operator", Instance: "pod"}, Epoch: 1, Seq: 2, ReceivedAt: at, Evidence: []string{"one"}}
	want.Observation = &contract.Observation{Object: object("a"), Units: []contract.Unit{{Name: "webServer", Failures: []contract.Failure{{Class: contract.FailureCrashLoop, Count: 1}}}}}
	want.Incomplete = "The history is missing."
	want.History = []statusapi.HistoryEvent{}
	s.Add(9, want)
	got, err := clientOf(t, s.URL, statustest.Token).Resource(t.Context(), contract.Superset, "team-a", "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
