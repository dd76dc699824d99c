package load

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// watch is a clock that tests advance.
type watch struct{ at time.Time }

func (w *watch) now() time.Time       { return w.at }
func (w *watch) pass(d time.Duration) { w.at = w.at.Add(d) }

var start = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

func well(took time.Duration) Outcome {
	return Outcome{Class: "200", Good: true, Answered: true, Took: took}
}

func TestGaps(t *testing.T) {
	w := &watch{start}
	recorder := NewRecorder(w.now, "one")
	w.pass(time.Second)
	recorder.Add(well(time.Millisecond)) // 1 s
	w.pass(2 * time.Second)
	recorder.Add(Outcome{Class: Refused, Detail: "refused"})
	recorder.Phase("two") // the gap continues
	recorder.Phase("two") // requested again, no new phase
	w.pass(3 * time.Second)
	recorder.Add(well(300 * time.Millisecond)) // 5 s
	w.pass(4 * time.Second)                    // 4 s, not ended yet

	phases := recorder.Figures()
	if len(phases) != 2 {
		t.Fatalf("%d phases", len(phases))
	}
	one, two := phases[0], phases[1]
	if one.LongestGap != 2 || !one.GapBegan.Equal(start.Add(time.Second)) || one.Seconds != 3 || one.Failed != 1 || one.Answers != 2 {
		t.Errorf("one: %+v", one)
	}
	if two.LongestGap != 5 || !two.GapBegan.Equal(start.Add(time.Second)) || two.Seconds != 7 || two.Failed != 0 {
		t.Errorf("two: %+v", two)
	}
	if one.Quantile(0.5) != 0.005 || two.Quantile(0.99) != 0.5 {
		t.Errorf("quantiles %v, %v", one.Quantile(0.5), two.Quantile(0.99))
	}
	w.pass(2 * time.Second)
	if again := recorder.Figures()[1]; again.LongestGap != 6 {
		t.Errorf("a gap that has not ended is %v long", again.LongestGap)
	}
	sum := Sum("all", phases...)
	if sum.Answers != 3 || sum.Failed != 1 || sum.LongestGap != 5 || sum.Seconds != 10 || sum.Classes["200"] != 2 || len(sum.Failures) != 1 {
		t.Errorf("sum: %+v", sum)
	}
}

func TestOutcomeCountsInStartPhase(t *testing.T) {
	w := &watch{start}
	recorder := NewRecorder(w.now, "before")
	w.pass(time.Second)
	recorder.Phase("stop")
	w.pass(time.Second)
	recorder.Phase("back")
	w.pass(time.Second)
	for _, took := range []time.Duration{time.Minute, 1500 * time.Millisecond, time.Second} {
		recorder.Add(Outcome{Class: Timeout, Took: took})
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
	recorder.Add(well(time.Minute))
	if q := recorder.Figures()[0].Quantile(0.5); q != -1 {
		t.Errorf("with a slow answer: %v", q)
	}
}

func TestControl(t *testing.T) {
	w := &watch{start}
	server := httptest.NewServer(Control(NewRecorder(w.now, "begin")))
	defer server.Close()
	ask := func(method, path string, want int) []Figures {
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
	ask("GET", "/healthz", 200)
	if got := ask("POST", "/phase?name=scale", 200); len(got) != 2 || got[1].Phase != "scale" {
		t.Errorf("%+v", got)
	}
	if got := ask("POST", "/reset?name=again", 200); len(got) != 1 || got[0].Phase != "again" {
		t.Errorf("%+v", got)
	}
	if got := ask("GET", "/counts", 200); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	ask("POST", "/phase", 400)
	ask("POST", "/executed?id=a", 400)
	ask("GET", "/reset?name=x", 405)
}
