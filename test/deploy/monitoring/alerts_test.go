package monitoring

import (
	"slices"
	"strings"
	"testing"
)

func TestAlertsFireOnTime(t *testing.T) {
	records, alerts := rules(t)
	left, further := len(histories), len(moreHistories)
	for _, alert := range alerts {
		h, ok := histories[alert.Alert]
		if !ok {
			t.Errorf("%s has no history", alert.Alert)
			continue
		}
		left--
		more, ok := moreHistories[alert.Alert]
		if ok {
			further--
		}
		for _, one := range append([]history{h}, more...) {
			t.Run(alert.Alert, func(t *testing.T) { one.check(t, alert, records) })
		}
	}
	if left != 0 || further != 0 {
		t.Errorf("the histories of %d names belong to no alert", left+further)
	}
}

func (h history) check(t *testing.T, alert rule, records []rule) {
	t.Helper()
	p := load(t, h.series...)
	if strings.Contains(alert.Expr, "flotilla:") {
		p.record(t, records, slices.Max(append(h.gaps, h.fires)))
	}
	for _, at := range h.gaps {
		if got := p.firing(t, alert, at); len(got) > 0 {
			t.Errorf("fires after %s: %v", at, got)
		}
	}
	got := p.firing(t, alert, h.fires)
	if len(got) != 1 || !strings.Contains(got[0], h.labels) {
		t.Errorf("after %s: %v, want one with %s", h.fires, got, h.labels)
	}
}

func TestAlertsIgnoreRequestedStop(t *testing.T) {
	records, alerts := rules(t)
	p := load(t, condition("Available", "False", "1x100"), condition("Stopped", "True", "1x100"), condition("Progressing", "True", "0x100"), condition("Degraded", "True", "0x100"))
	p.record(t, records, 100*m)
	for _, alert := range alerts {
		if !strings.HasPrefix(alert.Alert, "FlotillaResource") {
			continue
		}
		if got := p.firing(t, alert, 100*m); len(got) > 0 {
			t.Errorf("%s fires: %v", alert.Alert, got)
		}
	}
}

// While the aggregator writes conditions, its alerts name the resource.
func TestAlertsOfOperatorsYieldToAggregator(t *testing.T) {
	_, alerts := rules(t)
	for _, alert := range alerts {
		if alert.Alert != "FlotillaSupersetDegraded" && alert.Alert != "FlotillaEngineNotReady" {
			continue
		}
		series := histories[alert.Alert].series
		for value, want := range map[string]int{"0": 1, "1": 0} {
			p := load(t, append(slices.Clone(series), `flotilla_status_lease_held{pod="a"} `+value+`x22`)...)
			if got := p.firing(t, alert, 13*m); len(got) != want {
				t.Errorf("%s with lease %s: %v, want %d", alert.Alert, value, got, want)
			}
		}
	}
}

func TestShareOfAvailableResources(t *testing.T) {
	records, _ := rules(t)
	p := load(t,
		`flotilla_status_resources{kind="superset",type="Available",status="True"} 1x5`,
		`flotilla_status_resources{kind="superset",type="Available",status="False"} 1x5`,
		`flotilla_status_resources{kind="superset",type="Available",status="Unknown"} 0x5`)
	p.record(t, records, 5*m)
	if got := p.query(t, `flotilla:resources_available:ratio{kind="superset"}`, 5*m); len(got) != 1 || got[0].F != 0.5 {
		t.Errorf("share: %v, want 0.5", got)
	}
}
