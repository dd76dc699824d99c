package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Limits of a check.
const (
	// podTimeout bounds one scrape, from the dial to the last byte.
	podTimeout = 3 * time.Second
	// parallelism is the number of pods that are queried at a time, over all engines.
	parallelism = 16
	// perCheck is the number of pods of one generation that are queried at a time: a generation with
	// unresponsive pods leaves capacity for the others.
	perCheck = 4
	// maxBody limits the size of a metrics page; truncation makes a gauge missing.
	maxBody = 4 << 20
)

// Transport fetches the metrics of one pod.
type Transport interface {
	Metrics(ctx context.Context, pod *corev1.Pod) (io.ReadCloser, error)
}

// Prober queries the pods of a generation. It is safe for concurrent use.
type Prober struct {
	transports map[v1alpha1.ScrapeMode]Transport
	clock      clock.PassiveClock
	slots      chan struct{}
}

// NewProber returns a Prober with a transport for each scrape mode.
func NewProber(transports map[v1alpha1.ScrapeMode]Transport, clk clock.PassiveClock) *Prober {
	return &Prober{transports: transports, clock: clk, slots: make(chan struct{}, parallelism)}
}

// Sample queries every running pod once, also terminating pods, which may still finish
// queries. Pods that do not run yet or have ended are skipped; one whose engine container does not
// run has no queries. The first pod that cannot be queried ends the check, since the generation is
// then not drained regardless of the others; of several such pods, the first by name is reported.
func (p *Prober) Sample(ctx context.Context, mode v1alpha1.ScrapeMode, pods []corev1.Pod) Sample {
	running := runningPods(pods)
	if len(running) == 0 {
		return Sample{At: p.clock.Now()}
	}
	if mode == "" {
		mode = v1alpha1.ScrapePodIP
	}
	transport, ok := p.transports[mode]
	if !ok {
		return Sample{At: p.clock.Now(), Pods: len(running), Err: fmt.Errorf("unknown metric scrape mode %q", mode)}
	}
	c := &check{pods: running, failed: len(running)}
	var workers sync.WaitGroup
	for range min(perCheck, len(running)) {
		workers.Go(func() {
			for i, ok := c.next(); ok; i, ok = c.next() {
				c.record(i, func() (int, error) { return p.query(ctx, transport, running[i]) })
			}
		})
	}
	workers.Wait()
	return Sample{At: p.clock.Now(), Pods: len(running), Queries: c.queries, Err: c.err}
}

// runningPods returns the pods that may have queries, ordered by name.
func runningPods(pods []corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning {
			out = append(out, &pods[i])
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// check is the state that the workers of one sample share.
type check struct {
	mu      sync.Mutex
	pods    []*corev1.Pod
	used    int
	queries int
	// failed is the index of the first pod, in the order of names, that could not be queried.
	failed int
	err    error
}

// next returns the pods in order until one of them has failed. The queried
// pods are therefore always a prefix, so the reported pod does not
// depend on the order of the responses.
func (c *check) next() (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.used == len(c.pods) {
		return 0, false
	}
	c.used++
	return c.used - 1, true
}

func (c *check) record(i int, query func() (int, error)) {
	queries, err := query()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries += queries
	if err != nil && i < c.failed {
		c.failed, c.err = i, fmt.Errorf("scrape pod %q: %w", c.pods[i].Name, err)
	}
}

func (p *Prober) query(ctx context.Context, transport Transport, pod *corev1.Pod) (int, error) {
	if engineDown(pod) {
		return 0, nil
	}
	select {
	case p.slots <- struct{}{}: // waiting senders are served in order
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	queries, err := scrape(ctx, transport, pod)
	var timeoutErr net.Error
	if errors.As(err, &timeoutErr) && timeoutErr.Timeout() {
		return 0, fmt.Errorf("no answer within %s", podTimeout)
	}
	return queries, err
}

// engineDown reports whether the engine container is known not to run: it crashed and waits for its next start, or it has
// ended. The pod still has the phase Running, and refuses every scrape. It stays in the sample, since the container may
// start before the next one.
func engineDown(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == names.ContainerEngine && c.State.Running == nil
	})
}

func scrape(ctx context.Context, transport Transport, pod *corev1.Pod) (int, error) {
	body, err := transport.Metrics(ctx, pod)
	if err != nil {
		return 0, err
	}
	queries, err := Parse(io.LimitReader(body, maxBody))
	return queries, errors.Join(err, body.Close())
}

// maxErrorLength limits the length of error texts in conditions and events, in bytes.
const maxErrorLength = 512

// sourceAddress matches the local address of a connection in an error.
var sourceAddress = regexp.MustCompile(`\S+->`)

// errorText formats an error so that the same failure always has the same text: it omits the
// local port, which differs between connections.
func errorText(err error) string {
	text := strings.ToValidUTF8(sourceAddress.ReplaceAllString(err.Error(), ""), "?")
	if len(text) <= maxErrorLength {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorLength], "") + "..."
}
