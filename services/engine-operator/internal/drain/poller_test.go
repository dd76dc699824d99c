package drain

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestCheckReturnsKnownStateWithoutWaiting(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		q := query("a", 0, "a-0")
		start := time.Now()
		if v := b.Check(q); v.Drained || v.Fresh || v.Error != "" {
			t.Errorf("before any check: %+v", v)
		}
		if time.Now() != start {
			t.Error("Check waited for an unresponsive pod")
		}
		wait(podTimeout)
		synctest.Wait()
		v := b.Check(q)
		if v.Drained || !v.Fresh || !v.Changed || !strings.Contains(v.Error, `scrape pod "a-0"`) || b.enqueuedCount("a") != 1 {
			t.Errorf("after a failed check: %+v, enqueued %d times", v, b.enqueuedCount("a"))
		}
		if v = b.Check(q); v.Fresh || v.Changed || v.Error == "" {
			t.Errorf("the same again: %+v", v)
		}
	})
}

func TestCheckDrainsAfterTwoSamples(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		b.pods.set("a-0", page(0))
		q := query("a", 0, "a-0")
		b.Check(q)
		synctest.Wait()
		for range 100 { // other events enqueue the engine without a second check
			b.Check(q)
		}
		synctest.Wait()
		if v := b.Check(q); v.Drained || b.pods.scrapes["a-0"] != 1 {
			t.Errorf("within the interval: %+v, queried %d times", v, b.pods.scrapes["a-0"])
		}
		wait(q.Interval)
		b.Check(q)
		synctest.Wait()
		if v := b.Check(q); !v.Drained || b.enqueuedCount("a") != 2 {
			t.Errorf("after the interval: %+v, enqueued %d times", v, b.enqueuedCount("a"))
		}
		wait(valid)
		if v := b.Check(q); v.Drained {
			t.Error("an old result is still valid")
		}
		synctest.Wait()
		if v := b.Check(q); !v.Drained {
			t.Error("an old result was not renewed")
		}
	})
}

func TestCheckSchedulesFirstSampleAfterSettle(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		b.pods.set("a-0", page(0))
		q := query("a", 0, "a-0")
		q.Switched = time.Now()
		wait(4 * time.Second)
		var checks []time.Duration
		for v := b.Check(q); !v.Drained; v = b.Check(q) {
			if v.RequeueAfter == 0 {
				checks = append(checks, time.Since(q.Switched))
				synctest.Wait()
				continue
			}
			wait(v.RequeueAfter)
		}
		if diff := cmp.Diff([]time.Duration{4 * time.Second, Settle, Settle + q.Interval}, checks); diff != "" {
			t.Errorf("checks after the switch (-want +got):\n%s", diff)
		}
	})
}

func TestCheckResetsForNewGeneration(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		b.pods.set("a-0", page(0))
		q := query("a", 0, "a-0")
		b.Check(q)
		synctest.Wait()
		wait(q.Interval)
		b.Check(q)
		synctest.Wait()
		q.Generation = 1
		if v := b.Check(q); v.Drained {
			t.Error("generation 1 is drained because generation 0 was")
		}
		synctest.Wait()
		if v := b.Check(q); v.Drained {
			t.Error("generation 1 is drained after one check")
		}
		b.Forget(q.UID)
		if v := b.Check(q); v.Drained || v.Fresh {
			t.Errorf("after it was forgotten: %+v", v)
		}
	})
}

func TestCheckDrainsWithoutRunningPods(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		q := query("a", 0)
		q.Pods = []corev1.Pod{pod("a-0", corev1.PodPending, ""), pod("a-1", corev1.PodFailed, "")}
		if v := b.Check(q); !v.Drained || len(b.pods.scrapes) > 0 {
			t.Errorf("%+v, requested %v", v, b.pods.scrapes)
		}
	})
}

func TestCheckSettlesFromFirstQuery(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		b.pods.set("a-0", page(0))
		q := query("a", 0, "a-0")
		q.Switched, q.Interval = time.Time{}, time.Second
		first := time.Now()
		for range 6 {
			if v := b.Check(q); v.Drained || !v.Switched.Equal(first) {
				t.Fatalf("%s after the first query: %+v", time.Since(first), v)
			}
			synctest.Wait()
			wait(q.Interval)
		}
		b.Check(q)
		synctest.Wait()
		if v := b.Check(q); !v.Drained {
			t.Errorf("%s after the first query: %+v", time.Since(first), v)
		}
	})
}

func TestCheckReportsChangedErrors(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		q := query("a", 0, "a-1", "a-0", "a-2")
		b.pods.set("a-0", page(1))
		for i, step := range []struct {
			response, wantError string
			changed             bool
		}{
			{"!refused", `scrape pod "a-1": refused`, true},
			{"!refused", `scrape pod "a-1": refused`, false},
			{"!broken", `scrape pod "a-1": broken`, true},
			{page(2), "", true},
			{page(2), "", false},
		} {
			b.pods.set("a-1", step.response)
			b.pods.set("a-2", step.response)
			b.Check(q)
			synctest.Wait()
			if v := b.Check(q); !v.Fresh || v.Error != step.wantError || v.Changed != step.changed {
				t.Errorf("check %d: %+v, want %+v", i, v, step)
			}
			wait(q.Interval)
		}
	})
}

// Defect 12: one unresponsive pod stalled every engine.
func TestDefect12UnresponsivePodsLeaveCapacity(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		for i := range 20 {
			name := fmt.Sprintf("unresponsive%02d", i)
			b.Check(query(name, 0, many(name, 200)...))
		}
		synctest.Wait()
		b.pods.set("good-0", page(0))
		start := time.Now()
		q := query("good", 0, "good-0")
		b.Check(q)
		for b.enqueuedCount("good") == 0 {
			wait(100 * time.Millisecond)
			synctest.Wait()
		}
		// 20 engines have four pods each, checked 16 at a time, three seconds each.
		if elapsed := time.Since(start); elapsed > 6*podTimeout {
			t.Errorf("a responding pod was scraped after %s", elapsed)
		}
		if v := b.Check(q); !v.Fresh || v.Error != "" {
			t.Errorf("result %+v", v)
		}
		wait(20 * podTimeout)
		if b.pods.max > parallelism {
			t.Errorf("%d pods were queried at a time", b.pods.max)
		}
		for i := range 20 {
			name := fmt.Sprintf("unresponsive%02d", i)
			if v := b.Check(query(name, 0, many(name, 200)...)); !strings.Contains(v.Error, name+"-000") {
				t.Errorf("error = %q", v.Error)
			}
		}
	})
}

func TestForgetCancelsSample(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		b.Check(query("a", 0, "a-0"))
		synctest.Wait()
		b.Forget("a")
		synctest.Wait()
		if b.pods.open > 0 {
			t.Error("a forgotten engine is still scraped")
		}
		wait(time.Minute)
		if b.enqueuedCount("a") > 0 || len(b.engines) > 0 {
			t.Errorf("enqueued %d times, %d engines tracked", b.enqueuedCount("a"), len(b.engines))
		}
	})
}

func TestPollerBoundsEngines(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		for i := range maxEngines {
			b.Check(query(fmt.Sprintf("e%d", i), 0))
		}
		lateQuery := query("late", 0)
		if v := b.Check(lateQuery); v.Drained || v.Error == "" || len(b.engines) != maxEngines {
			t.Errorf("one engine too many: %+v, %d tracked", v, len(b.engines))
		}
		b.Forget("e7")
		if v := b.Check(lateQuery); !v.Drained {
			t.Errorf("after another left: %+v", v)
		}
		wait(idle + time.Minute)
		if b.Check(query("later", 0)); len(b.engines) != 1 {
			t.Errorf("%d engines without queries are tracked", len(b.engines)-1)
		}
	})
}

func TestPollerHandlesManyEngines(t *testing.T) {
	runSynctest(t, func(t *testing.T, b *testEnv) {
		t.Helper()
		var engines sync.WaitGroup
		for i := range 50 {
			name := fmt.Sprintf("e%d", i)
			b.pods.set(name+"-0", page(0))
			engines.Go(func() {
				for g := range int64(3) {
					for !b.Check(query(name, g, name+"-0")).Drained {
						wait(time.Second)
					}
				}
				b.Forget(types.UID(name))
			})
		}
		engines.Wait()
		if len(b.engines) > 0 {
			t.Errorf("%d engines tracked", len(b.engines))
		}
	})
}
