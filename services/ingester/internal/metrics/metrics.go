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
	// Statements is the duration of MySQL statements by operation.
	Statements *prometheus.HistogramVec
	Errors     *prometheus.CounterVec // stage: prepare, build, write, kubernetes, publish; class
	Rejected   *prometheus.CounterVec // kind, field: objects that cannot be stored
	Incomplete *prometheus.CounterVec // kind: rows closed without the final state, which was rejected
	Adopted    *prometheus.CounterVec // kind: finalizers added to objects that lacked it
	Published  prometheus.Counter
	Compacted  prometheus.Counter // change events dropped because the outbox was full
	Depth      prometheus.Gauge   // rows in the outbox
	OutboxLag  prometheus.Gauge   // age of the oldest row in the outbox, seconds
	Reachable  prometheus.Gauge   // 1 while MySQL is reachable
	Resyncs    prometheus.Counter // comparisons of all objects after a failover
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
		Upserts:   counter("upserts_total", "Total number of rows written for objects in the cluster.", "kind", "result"),
		Deletes:   counter("deletes_total", "Total number of closed rows.", "kind"),
		Evictions: counter("evictions_total", "Total number of rows marked as evicted.", "kind"),
		Unchanged: counter("unchanged_total", "Total number of writes skipped because MySQL already had the version.", "kind"),
		Stale:     counter("stale_total", "Total number of writes rejected because MySQL had a newer version.", "kind"),
		Batches:   counter("batches_total", "Total number of transactions.", "kind"),
		BatchRows: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "batch_objects", Help: "Number of objects per transaction.",
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
			Namespace: namespace, Name: "statement_duration_seconds", Help: "Duration of MySQL statements by operation.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}, []string{"statement"}),
		Errors:     counter("errors_total", "Total number of errors by stage and class.", "stage", "class"),
		Rejected:   counter("rejected_total", "Total number of rejected objects by invalid field.", "kind", "field"),
		Incomplete: counter("closed_incomplete_total", "Total number of rows closed without the final state of the object, which was rejected.", "kind"),
		Adopted:    counter("finalizers_adopted_total", "Total number of finalizers added to existing objects.", "kind"),
		Published:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "changes_published_total", Help: "Total number of change events acknowledged by the bus."}),
		Compacted:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "changes_compacted_total", Help: "Total number of change events dropped because the outbox was full."}),
		Depth:      gauge("outbox_rows", "Number of change events in the outbox."),
		OutboxLag:  gauge("outbox_lag_seconds", "Age of the oldest change event in the outbox."),
		Reachable:  gauge("mysql_reachable", "1 while MySQL is reachable."),
		Resyncs:    prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "resyncs_total", Help: "Total number of comparisons of all objects with their rows, since another MySQL server answered or it was restarted."}),
	}
	m.registerer = reg
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.Upserts, m.Deletes, m.Evictions, m.Unchanged, m.Stale, m.Batches, m.BatchRows, m.CommitLag, m.EventToCommit, m.Rejected, m.Incomplete,
		m.Statements, m.Errors, m.Adopted, m.Published, m.Compacted, m.Depth, m.OutboxLag, m.Reachable, m.Resyncs,
	} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// Statement measures a statement from now until the returned function is called.
func (m *Metrics) Statement(clk clock.PassiveClock, operation string) func() {
	start := clk.Now()
	return func() { m.Statements.WithLabelValues(operation).Observe(clk.Since(start).Seconds()) }
}

// Pool registers the metrics of a connection pool.
func (m *Metrics) Pool(name string, db *sql.DB) error {
	if m.registerer == nil {
		return nil
	}
	if err := m.registerer.Register(collectors.NewDBStatsCollector(db, name)); err != nil {
		return fmt.Errorf("register metrics of pool %s: %w", name, err)
	}
	return nil
}
