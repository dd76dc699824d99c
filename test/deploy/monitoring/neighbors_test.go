package monitoring

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// oneInCluster has the alerts that another installation in the same cluster hides.
var oneInCluster = []string{
	"FlotillaConditionsLeaseNotHeld", // there is one aggregator
	"FlotillaServiceAbsent",          // Prometheus does not know which installations there should be
}

// TestAlertsFireNextToHealthyInstallation adds an installation in another namespace to each history, whose series keep
// their first values. The alert must fire all the same.
func TestAlertsFireNextToHealthyInstallation(t *testing.T) {
	records, alerts := rules(t)
	for _, alert := range alerts {
		if slices.Contains(oneInCluster, alert.Alert) {
			continue
		}
		for _, h := range append([]history{histories[alert.Alert]}, moreHistories[alert.Alert]...) {
			t.Run(alert.Alert, func(t *testing.T) {
				p := load(t, h.series...)
				p.addHealthyInstallation(t, h.series, h.fires)
				if strings.Contains(alert.Expr, "flotilla:") {
					p.record(t, records, h.fires)
				}
				got := p.firing(t, alert, h.fires)
				if !slices.ContainsFunc(got, func(labels string) bool { return strings.Contains(labels, h.labels) }) {
					t.Errorf("does not fire for the other installation: %v", got)
				}
			})
		}
	}
}

// addHealthyInstallation adds a copy of each series for another namespace, in which the first value stays. The time of the
// last success is always the current time.
func (p *evaluator) addHealthyInstallation(t *testing.T, series []string, until time.Duration) {
	t.Helper()
	for _, line := range series {
		name, values, err := promQL.ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		first := values[0]
		if first.Omitted {
			continue
		}
		healthy := labels.NewBuilder(name).Set("namespace", "healthy").Labels()
		for at := time.Duration(0); at <= until; at += step {
			value := first.Value
			if value == 0 && strings.Contains(name.Get("__name__"), "_timestamp_seconds") {
				value = at.Seconds()
			}
			p.memory.add(healthy, at, value)
		}
	}
}
