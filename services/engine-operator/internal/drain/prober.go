package drain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// The gauges of an engine that count queries which must not be cut off.
const (
	gaugeRunning   = "firebolt_running_queries"
	gaugeSuspended = "firebolt_suspended_queries"
)

// Limits of a look.
const (
	podTimeout  = 3 * time.Second
	parallelism = 16
	maxBody     = 4 << 20
)

// Transport fetches the metrics of one pod.
type Transport interface {
	Metrics(ctx context.Context, pod *corev1.Pod) (io.ReadCloser, error)
}

// Prober looks at the pods of a generation. It is safe for concurrent use.
type Prober struct {
	transports map[v1.ScrapeMode]Transport
	clock      clock.PassiveClock
	slots      chan struct{}
}

// NewProber returns a Prober with a transport for each scrape mode.
func NewProber(transports map[v1.ScrapeMode]Transport, clk clock.PassiveClock) *Prober {
	return &Prober{transports: transports, clock: clk, slots: make(chan struct{}, parallelism)}
}

// Sample asks every running pod once. Pods that do not run, or have ended, are skipped.
func (p *Prober) Sample(ctx context.Context, mode v1.ScrapeMode, pods []corev1.Pod) Sample {
	if mode == "" {
		mode = v1.ScrapePodIP
	}
	transport, ok := p.transports[mode]
	if !ok {
		return Sample{At: p.clock.Now(), Pods: len(pods), Err: fmt.Errorf("unknown metric scrape mode %q", mode)}
	}
	var (
		mu  sync.Mutex
		wg  sync.WaitGroup
		out Sample
	)
	for i := range pods {
		pod := &pods[i]
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		out.Pods++
		wg.Go(func() {
			queries, err := p.ask(ctx, transport, pod)
			mu.Lock()
			defer mu.Unlock()
			out.Queries += queries
			if err != nil {
				out.Err = errors.Join(out.Err, fmt.Errorf("scrape pod %q: %w", pod.Name, err))
			}
		})
	}
	wg.Wait()
	out.At = p.clock.Now()
	return out
}

func (p *Prober) ask(ctx context.Context, transport Transport, pod *corev1.Pod) (int, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	body, err := transport.Metrics(ctx, pod)
	if err != nil {
		return 0, err
	}
	queries, err := Parse(io.LimitReader(body, maxBody))
	return queries, errors.Join(err, body.Close())
}

// Parse sums the query gauges of a metrics page. Only lines "name value [timestamp]"
// count; a gauge that is missing, or only there with labels, is an error.
func Parse(r io.Reader) (int, error) {
	found := map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || len(fields) > 3 || (fields[0] != gaugeRunning && fields[0] != gaugeSuspended) {
			continue
		}
		v, err := strconv.ParseFloat(fields[1], 64)
		if err != nil || !(v >= 0 && v < 1e9) {
			return 0, fmt.Errorf("gauge %s: %q is not a count", fields[0], fields[1])
		}
		found[fields[0]] = int(v)
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	for _, name := range []string{gaugeRunning, gaugeSuspended} {
		if _, ok := found[name]; !ok {
			return 0, fmt.Errorf("gauge %s is missing", name)
		}
	}
	return found[gaugeRunning] + found[gaugeSuspended], nil
}
