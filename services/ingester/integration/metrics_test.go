package integration

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/app"
)

// describing records the registered metrics with their labels.
type describing struct {
	prometheus.Registerer
	mu     sync.Mutex
	labels map[string][]string
}

var description = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

func (d *describing) Register(c prometheus.Collector) error {
	described := make(chan *prometheus.Desc, 100)
	c.Describe(described)
	close(described)
	d.mu.Lock()
	defer d.mu.Unlock()
	for desc := range described {
		m := description.FindStringSubmatch(desc.String())
		if m == nil || !strings.HasPrefix(m[1], "flotilla_ingester_") {
			continue
		}
		d.labels[m[1]] = nil
		if m[2] != "" {
			d.labels[m[1]] = strings.Split(m[2], ",")
		}
	}
	return d.Registerer.Register(c)
}

func TestPageListsRegisteredMetrics(t *testing.T) {
	b := newEnv(t)
	registered := &describing{Registerer: prometheus.NewRegistry(), labels: map[string][]string{}}
	b.registerer = registered
	b.start(func(o *app.Options) {
		o.API.BindAddress, o.API.MaxRequests, o.Sweep.Interval = "127.0.0.1:0", 1, time.Hour
	})()
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, quoted := map[string][]string{}, regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `flotilla_") {
			continue
		}
		var labels []string
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			labels = append(labels, m[1])
		}
		documented[quoted.FindStringSubmatch(cells[1])[1]] = labels
	}
	if diff := cmp.Diff(registered.labels, documented); diff != "" {
		t.Errorf("docs/metrics.md differs from what is registered (-registered +documented):\n%s", diff)
	}
}
