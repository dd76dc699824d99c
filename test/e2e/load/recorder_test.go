package load

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// fakeClock is a clock that tests advance.
type fakeClock struct{ at time.Time }

func (w *fakeClock) now() time.Time          { return w.at }
func (w *fakeClock) advance(d time.Duration) { w.at = w.at.Add(d) }

var start = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

func success(duration time.Duration) Outcome {
	return Outcome{Class: "200", Good: true, Answered: true, Duration: duration}
}

func TestGaps(t *testing.T) {
	w := &fakeClock{start}
	recorder := NewRecorder(w.now, "one")
	w.advance(time.Second)
	recorder.Add(success(time.Millisecond)) // 1 s
	w.advance(2 * time.Second)
	recorder.Add(Outcome{Class: Refused, Detail: "refused"})
	recorder.Phase("two") // the gap continues
	recorder.Phase("two") // requested again, no new phase
	w.advance(3 * time.Second)
	recorder.Add(success(300 * time.Millisecond)) // 5 s
	w.advance(4 * time.Second)                    // 4 s, not ended yet

	phases := recorder.Figures()
	if len(phases) != 2 {
		t.Fatalf("%d phases", len(phases))
	}
	one, two := phases[0], phases[1]
	if one.LongestGap != 2 || !one.GapStart.Equal(start.Add(time.Second)) || one.Seconds != 3 || one.Failed != 1 || one.Answers != 2 {
		t.Errorf("one: %+v", one)
	}
	if two.LongestGap != 5 || !two.GapStart.Equal(start.Add(time.Second)) || two.Seconds != 7 || two.Failed != 0 {
		t.Errorf("two: %+v", two)
	}
	if one.Quantile(0.5) != 0.005 || two.Quantile(0.99) != 0.5 {
		t.Errorf("quantiles %v, %v", one.Quantile(0.5), two.Quantile(0.99))
	}
	w.advance(2 * time.Second)
	if second := recorder.Figures()[1]; second.LongestGap != 6 {
		t.Errorf("a gap that has not ended is %v long", second.LongestGap)
	}
	sum := Sum("all", phases...)
	if sum.Answers != 3 || sum.Failed != 1 || sum.LongestGap != 5 || sum.Seconds != 10 || sum.Classes["200"] != 2 || len(sum.Failures) != 1 {
		t.Errorf("sum: %+v", sum)
	}
}

func TestOutcomeCountsInStartPhase(t *testing.T) {
	w := &fakeClock{start}
	recorder := NewRecorder(w.now, "before")
	w.advance(time.Second)
	recorder.Phase("stop")
	w.advance(time.Second)
	recorder.Phase("back")
	w.advance(time.Second)
	for _, duration := range []time.Duration{time.Minute, 1500 * time.Millisecond, time.Second} {
		recorder.Add(Outcome{Class: Timeout, Duration: duration})
	}
	for _, f := range recorder.Figures() {
		if f.Answers != 1 || f.Failed != 1 || f.Classes[Timeout] != 1 || len(f.Failures) != 1 {
			t.Errorf("%+v", f)
		}
	}
	if gap := recorder.Figures()[2].LongestGap; gap != 3 {
		t.Errorf("the last phase's gap is %v", gap)
	}
}

func TestQuantileExceedsAllBounds(t *testing.T) {
	recorder := NewRecorder(func() time.Time { return start }, "p")
	if q := recorder.Figures()[0].Quantile(0.5); q != 0 {
		t.Errorf("without answers: %v", q)
	}
	recorder.Add(success(time.Minute))
	if q := recorder.Figures()[0].Quantile(0.5); q != -1 {
		t.Errorf("with a slow answer: %v", q)
	}
}

func TestControl(t *testing.T) {
	w := &fakeClock{start}
	server := httptest.NewServer(Control(NewRecorder(w.now, "begin")))
	defer server.Close()
	do := func(method, path string, want int) []Figures {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != want {
			t.Fatalf("%s %s: %s", method, path, response.Status)
		}
		var out []Figures
		if want == http.StatusOK && path != "/healthz" {
			if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	do("GET", "/healthz", 200)
	if got := do("POST", "/phase?name=scale", 200); len(got) != 2 || got[1].Phase != "scale" {
		t.Errorf("%+v", got)
	}
	if got := do("POST", "/reset?name=again", 200); len(got) != 1 || got[0].Phase != "again" {
		t.Errorf("%+v", got)
	}
	if got := do("GET", "/counts", 200); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	do("POST", "/phase", 400)
	do("POST", "/executed?id=a", 400)
	do("POST", "/answered", 400)
	do("GET", "/reset?name=x", 405)
}
