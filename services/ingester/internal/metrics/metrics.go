// Package metrics declares the Prometheus metrics of the ingester. controller-runtime
// adds those of its controllers (named ingester_<Kind>) and queues.
package metrics

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/utils/clock"
)

const namespace = "flotilla_ingester"

// Metrics holds all counters. A nil *Metrics is not usable; [New] with a nil registerer keeps them private.
type Metrics struct {
	Upserts   *prometheus.CounterVec   // kind, result: created, updated, restored
	Deletes   *prometheus.CounterVec   // kind: rows closed
	Evictions *prometheus.CounterVec   // kind
	Unchanged *prometheus.CounterVec   // kind: writes that were not necessary
	Stale     *prometheus.CounterVec   // kind: older versions that were rejected
	Batches   *prometheus.CounterVec   // kind: transactions
	BatchRows prometheus.Histogram     // objects in a transaction
	CommitLag *prometheus.HistogramVec // kind: seconds from the reconcile to the commit
	// EventToCommit is the time from a watch event to the commit of its object, by kind.
	EventToCommit *prometheus.HistogramVec
	// Statements is the time that MySQL takes for a statement, by what it does.
	Statements *prometheus.HistogramVec
	Errors     *prometheus.CounterVec // stage: build, write, kubernetes, publish; class
	Rejected   *prometheus.CounterVec // kind, field: objects that cannot be stored as they are
	Incomplete *prometheus.CounterVec // kind: rows closed without the final state, which was rejected
	Adopted    *prometheus.CounterVec // kind: finalizers added to objects that lacked it
	Published  prometheus.Counter
	Compacted  prometheus.Counter // change events dropped because the outbox was full
	Depth      prometheus.Gauge   // rows in the outbox
	OutboxLag  prometheus.Gauge   // age of the oldest row in the outbox, seconds
	Reachable  prometheus.Gauge   // 1 while MySQL is reachable
	registerer prometheus.Registerer
}

// New creates the metrics and registers them. A nil registerer keeps them private.
func New(reg prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	m := &Metrics{
		Upserts:   counter("upserts_total", "Rows written for objects that are in the cluster.", "kind", "result"),
		Deletes:   counter("deletes_total", "Rows closed.", "kind"),
		Evictions: counter("evictions_total", "Rows marked as evicted.", "kind"),
		Unchanged: counter("unchanged_total", "Objects that MySQL already had in this version.", "kind"),
		Stale:     counter("stale_total", "Objects that MySQL already had in a newer version.", "kind"),
		Batches:   counter("batches_total", "Transactions.", "kind"),
		BatchRows: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "batch_objects", Help: "Objects in one transaction.",
			Buckets: []float64{1, 2, 5, 10, 25, 50, 100, 200},
		}),
		CommitLag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "commit_lag_seconds", Help: "Time from the reconcile of an object to its commit.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"kind"}),
		EventToCommit: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "event_to_commit_seconds", Help: "Time from the watch event of a change to its commit.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18),
		}, []string{"kind"}),
		Statements: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "statement_duration_seconds", Help: "Time that MySQL takes for a statement, by what it does.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}, []string{"statement"}),
		Errors:     counter("errors_total", "Errors by stage and class.", "stage", "class"),
		Rejected:   counter("rejected_total", "Objects that cannot be stored as they are, by the field at fault.", "kind", "field"),
		Incomplete: counter("closed_incomplete_total", "Rows closed as they were, since the final state of the object was rejected.", "kind"),
		Adopted:    counter("finalizers_adopted_total", "Finalizers added to objects that lacked it.", "kind"),
		Published:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "changes_published_total", Help: "Change events that the bus has acknowledged."}),
		Compacted:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "changes_compacted_total", Help: "Change events superseded by a later one of the same object and dropped, since the outbox was full."}),
		Depth:      gauge("outbox_rows", "Change events that wait for the bus."),
		OutboxLag:  gauge("outbox_lag_seconds", "Age of the oldest change event that waits for the bus."),
		Reachable:  gauge("mysql_reachable", "1 while MySQL answers."),
	}
	m.registerer = reg
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.Upserts, m.Deletes, m.Evictions, m.Unchanged, m.Stale, m.Batches, m.BatchRows, m.CommitLag, m.EventToCommit, m.Rejected, m.Incomplete,
		m.Statements, m.Errors, m.Adopted, m.Published, m.Compacted, m.Depth, m.OutboxLag, m.Reachable,
	} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// Statement measures one statement that begins now; the returned function ends it.
func (m *Metrics) Statement(clk clock.PassiveClock, what string) func() {
	begin := clk.Now()
	return func() { m.Statements.WithLabelValues(what).Observe(clk.Since(begin).Seconds()) }
}

// Pool adds the figures of the connection pool.
func (m *Metrics) Pool(db *sql.DB) error {
	if m.registerer == nil {
		return nil
	}
	if err := m.registerer.Register(collectors.NewDBStatsCollector(db, "ingester")); err != nil {
		return fmt.Errorf("register pool metrics: %w", err)
	}
	return nil
}
