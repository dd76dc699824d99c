package drain

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

func TestEvaluateRequiresTwoZeroSamplesAfterSettle(t *testing.T) {
	switched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int, queries int, err error) Sample {
		return Sample{At: switched.Add(time.Duration(s) * time.Second), Pods: 2, Queries: queries, Err: err}
	}
	cases := map[string]struct {
		samples []Sample
		want    bool
	}{
		"two zeros after the settling time":             {[]Sample{at(5, 0, nil), at(10, 0, nil)}, true},
		"one zero is not enough":                        {[]Sample{at(60, 0, nil)}, false},
		"an early zero does not count":                  {[]Sample{at(4, 0, nil), at(9, 0, nil)}, false},
		"a query between two zeros restarts the count":  {[]Sample{at(5, 0, nil), at(10, 1, nil), at(15, 0, nil)}, false},
		"a failed check restarts the count":             {[]Sample{at(5, 0, nil), at(10, 0, errors.New("x")), at(15, 0, nil)}, false},
		"a check before the interval is not a sample":   {[]Sample{at(5, 0, nil), at(6, 0, nil)}, false},
		"drained at once without running pods":          {[]Sample{{At: switched}}, true},
		"not drained without pods after a failed check": {[]Sample{{At: switched, Err: errors.New("x")}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var m State
			var got bool
			for _, s := range tc.samples {
				m, got = Evaluate(m, s, switched, 5*time.Second)
			}
			if got != tc.want {
				t.Errorf("drained = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	cases := map[string]struct {
		page string
		want int
		err  string
	}{
		"both gauges are summed":                {"firebolt_running_queries 2\nfirebolt_suspended_queries 3 1700000000\n", 5, ""},
		"comments and others are ignored":       {"# HELP firebolt_running_queries x\nother 7\nfirebolt_running_queries 0\nfirebolt_suspended_queries 0.0\n", 0, ""},
		"a missing gauge is an error":           {"firebolt_running_queries 0\n", 0, "firebolt_suspended_queries is missing"},
		"fractions are truncated":               {"firebolt_running_queries 1.9\nfirebolt_suspended_queries 1e1\n", 11, ""},
		"the third field must be a timestamp":   {"firebolt_running_queries 0 x\nfirebolt_suspended_queries 0\n", 0, "firebolt_running_queries is missing"},
		"four fields are not a sample":          {"firebolt_running_queries 0 1 2\nfirebolt_suspended_queries 0\n", 0, "firebolt_running_queries is missing"},
		"a duplicate gauge":                     {"firebolt_running_queries 3\nfirebolt_running_queries 0\nfirebolt_suspended_queries 0\n", 0, "duplicated"},
		"labeled and unlabeled gauges":          {"firebolt_running_queries{a=\"b\"} 7\nfirebolt_running_queries 1\nfirebolt_suspended_queries 0\n", 1, ""},
		"an infinite gauge is not a count":      {"firebolt_running_queries +Inf\nfirebolt_suspended_queries 0\n", 0, "not a count"},
		"a line over the limit":                 {strings.Repeat("x", maxLine+1), 0, "read metrics"},
		"a labeled gauge does not count":        {"firebolt_running_queries{a=\"b\"} 0\nfirebolt_suspended_queries 0\n", 0, "firebolt_running_queries is missing"},
		"a gauge that is not a number":          {"firebolt_running_queries NaN\nfirebolt_suspended_queries 0\n", 0, "not a count"},
		"a negative gauge is not a count":       {"firebolt_running_queries -1\nfirebolt_suspended_queries 0\n", 0, "not a count"},
		"an empty page is not a drained engine": {"", 0, "is missing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(strings.NewReader(tc.page))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error = %v, want one with %q", err, tc.err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("Parse = %d, %v; want %d", got, err, tc.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("firebolt_running_queries 2\nfirebolt_suspended_queries 3\n")
	f.Fuzz(func(t *testing.T, page string) {
		if n, err := Parse(strings.NewReader(page)); err == nil && n < 0 {
			t.Errorf("negative count %d", n)
		}
	})
}

func TestSampleQueriesRunningPodsOnly(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.WriteString(w, "firebolt_running_queries 1\nfirebolt_suspended_queries 1\n"); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	p := NewProber(map[v1alpha1.ScrapeMode]Transport{v1alpha1.ScrapePodIP: NewPodIP(port)}, clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	pods := []corev1.Pod{pod("a", corev1.PodRunning, u.Hostname()), pod("b", corev1.PodRunning, u.Hostname()), pod("c", corev1.PodPending, "")}
	s := p.Sample(context.Background(), "", pods)
	if s.Pods != 2 || s.Queries != 4 || s.Err != nil {
		t.Errorf("sample = %+v", s)
	}
	s = p.Sample(context.Background(), "", append(pods, pod("d", corev1.PodRunning, "")))
	if s.Err == nil || !strings.Contains(s.Err.Error(), `pod "d"`) {
		t.Errorf("error = %v, want one that names pod d", s.Err)
	}
	if s = p.Sample(context.Background(), "Smoke", pods); s.Err == nil {
		t.Error("an unknown mode was accepted")
	}
}

func TestSampleQueriesTerminatingPod(t *testing.T) {
	terminating := pod("a-0", corev1.PodRunning, "10.0.0.1")
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	p := NewProber(map[v1alpha1.ScrapeMode]Transport{v1alpha1.ScrapePodIP: &pods{
		responses: map[string]string{"a-0": page(1)}, scrapes: map[string]int{},
	}}, clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	if s := p.Sample(t.Context(), "", []corev1.Pod{terminating}); s.Queries != 1 || s.Err != nil {
		t.Errorf("sample = %+v", s)
	}
	succeeded := pod("a-1", corev1.PodSucceeded, "10.0.0.1")
	if s := p.Sample(t.Context(), "Smoke", []corev1.Pod{succeeded}); s.Pods != 0 || s.Err != nil {
		t.Errorf("got %+v, want no scrapes", s)
	}
}

// A pod in CrashLoopBackOff has the phase Running, and refuses each connection.
func TestSampleCountsNoQueriesWithoutRunningContainer(t *testing.T) {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	terminated := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	statuses := func(engine, sidecar corev1.ContainerState) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "sidecar", State: sidecar}, {Name: names.ContainerEngine, State: engine}}
	}
	cases := map[string]struct {
		statuses []corev1.ContainerStatus
		scraped  bool
	}{
		"the engine waits for its next start":   {statuses(waiting, running), false},
		"the engine has terminated":             {statuses(terminated, running), false},
		"the engine has no state":               {statuses(corev1.ContainerState{}, running), false},
		"the engine runs, a sidecar crashes":    {statuses(running, waiting), true},
		"the status of the engine is not known": {[]corev1.ContainerStatus{{Name: "sidecar", State: waiting}}, true},
		"no container has a status":             {nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			transport := &pods{responses: map[string]string{"a-0": "!connection refused", "a-1": page(3)}, scrapes: map[string]int{}}
			p := NewProber(map[v1alpha1.ScrapeMode]Transport{v1alpha1.ScrapePodIP: transport}, clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			crashing := pod("a-0", corev1.PodRunning, "10.0.0.1")
			crashing.Status.ContainerStatuses = tc.statuses
			s := p.Sample(t.Context(), "", []corev1.Pod{crashing, pod("a-1", corev1.PodRunning, "10.0.0.2")})
			if scraped := transport.scrapes["a-0"] > 0; scraped != tc.scraped || (s.Err != nil) != tc.scraped {
				t.Errorf("scraped = %t, want %t; error = %v", scraped, tc.scraped, s.Err)
			}
			if s.Pods != 2 || (!tc.scraped && s.Queries != 3) {
				t.Errorf("sample = %+v, want both pods and the queries of the other one", s)
			}
		})
	}
}

// A generation that crash-loops is usually the reason for the rollout. Its drain ends, after two samples.
func TestCheckDrainsCrashLoopingPods(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		b.pods.set("a-0", "!connection refused")
		q := query("a", 0, "a-0")
		state := &q.Pods[0].Status
		crashLoop := []corev1.ContainerStatus{{
			Name: names.ContainerEngine, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}}
		check := func() Result {
			b.Check(q)
			synctest.Wait()
			return b.Check(q)
		}
		state.ContainerStatuses = crashLoop
		if v := check(); v.Drained || v.Error != "" {
			t.Errorf("after one sample: %+v", v)
		}
		wait(q.Interval)
		state.ContainerStatuses = []corev1.ContainerStatus{{
			Name: names.ContainerEngine, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
		if v := check(); v.Drained || v.Error == "" {
			t.Errorf("after a restart of the container: %+v, want a failed check", v)
		}
		state.ContainerStatuses = crashLoop
		for range 2 {
			wait(q.Interval)
			check()
		}
		if v := b.Check(q); !v.Drained || v.Error != "" {
			t.Errorf("after two more samples: %+v", v)
		}
	})
}

func pod(name string, phase corev1.PodPhase, ip string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: phase, PodIP: ip}}
}
