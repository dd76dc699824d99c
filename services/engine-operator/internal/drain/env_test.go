package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// pods returns the responses of pods by name. A pod without one hangs until the timeout.
type pods struct {
	mu        sync.Mutex
	responses map[string]string // a page, or "!" followed by an error
	scrapes   map[string]int
	open, max int
}

func (p *pods) Metrics(ctx context.Context, pod *corev1.Pod) (io.ReadCloser, error) {
	p.mu.Lock()
	response, ok := p.responses[pod.Name]
	p.scrapes[pod.Name]++
	p.open++
	p.max = max(p.max, p.open)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open--
	}()
	if !ok {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if reason, isError := strings.CutPrefix(response, "!"); isError {
		return nil, errors.New(reason)
	}
	return io.NopCloser(strings.NewReader(response)), nil
}

func (p *pods) set(name, response string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.responses[name] = response
}

func page(queries int) string {
	return fmt.Sprintf("firebolt_running_queries %d\nfirebolt_suspended_queries 0\n", queries)
}

// testEnv is a running poller in a synctest bubble.
type testEnv struct {
	*Poller
	pods     *pods
	mu       sync.Mutex
	enqueued map[string]int
}

func (b *testEnv) enqueuedCount(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.enqueued[name]
}

// runSynctest runs test with a poller, which must end with its context.
func runSynctest(t *testing.T, test func(*testing.T, *testEnv)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pods{responses: map[string]string{}, scrapes: map[string]int{}}
		b := &testEnv{pods: p, enqueued: map[string]int{}}
		b.Poller = NewPoller(NewProber(map[v1alpha1.ScrapeMode]Transport{v1alpha1.ScrapePodIP: p}, clock.RealClock{}), clock.RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.run(ctx, func(engine types.NamespacedName) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.enqueued[engine.Name]++
			})
		}()
		test(t, b)
		cancel()
		<-ended
	})
}

func query(name string, generation int64, running ...string) Query {
	q := Query{
		Engine: types.NamespacedName{Namespace: "n", Name: name}, UID: types.UID(name), Generation: generation,
		Switched: time.Now().Add(-time.Minute), Interval: 5 * time.Second,
	}
	for _, p := range running {
		q.Pods = append(q.Pods, pod(p, corev1.PodRunning, "10.0.0.1"))
	}
	return q
}

func many(prefix string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%03d", prefix, i))
	}
	return out
}

// wait advances the time of the bubble.
func wait(d time.Duration) { <-time.After(d) }
