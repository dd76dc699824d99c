package monitoring

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// step is the evaluation interval of the rules.
const step = time.Minute

// evaluator evaluates rules over predefined series.
type evaluator struct {
	engine *promql.Engine
	memory *memory
}

// load loads series with one value per minute, in the notation of Prometheus, such as "up 1x10 0x5".
func load(t *testing.T, series ...string) *evaluator {
	t.Helper()
	e := &evaluator{
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: promQL, EnableDelayedNameRemoval: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return step.Milliseconds() },
		}),
		memory: &memory{},
	}
	t.Cleanup(func() {
		if err := e.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, line := range series {
		name, values, err := promQL.ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for i, v := range values {
			if !v.Omitted {
				e.memory.add(name, time.Duration(i)*step, v.Value)
			}
		}
	}
	return e
}

// query evaluates an expression at a time since the start.
func (p *evaluator) query(t *testing.T, expression string, at time.Duration) promql.Vector {
	t.Helper()
	q, err := p.engine.NewInstantQuery(t.Context(), p.memory, nil, expression, time.Unix(0, 0).Add(at))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	vector, err := q.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return vector
}

// record evaluates the recording rules from the start until a time.
func (p *evaluator) record(t *testing.T, records []rule, until time.Duration) {
	t.Helper()
	for at := time.Duration(0); at <= until; at += step {
		for _, r := range records { // in order: later rules may use the series of earlier ones
			for _, s := range p.query(t, r.Expr, at) {
				p.memory.add(labels.NewBuilder(s.Metric).Set(model.MetricNameLabel, r.Record).Labels(), at, s.F)
			}
		}
	}
}

// firing returns the label sets for which an alert fires at a time: its expression was true for them continuously for the
// duration of the rule.
func (p *evaluator) firing(t *testing.T, alert rule, at time.Duration) []string {
	t.Helper()
	var hold model.Duration
	if alert.For != "" {
		var err error
		if hold, err = model.ParseDuration(alert.For); err != nil {
			t.Fatal(err)
		}
	}
	var persistent map[string]bool
	for moment := at - time.Duration(hold); moment <= at; moment += step {
		now := map[string]bool{}
		for _, s := range p.query(t, alert.Expr, moment) {
			now[labels.NewBuilder(s.Metric).Del(model.MetricNameLabel).Labels().String()] = true
		}
		if persistent == nil {
			persistent = now
			continue
		}
		maps.DeleteFunc(persistent, func(key string, _ bool) bool { return !now[key] })
	}
	var out []string
	for key := range persistent {
		out = append(out, key)
	}
	return out
}
