package monitoring

import "time"

// moreHistories has further histories of an alert.
var moreHistories = map[string][]history{
	// The aggregator restarts while the operator is down.
	"FlotillaObserverStale": {{
		series: []string{
			`flotilla_status_observer{observer="engine-operator",state="Stale",pod="a"} 0 stale _x20`, `flotilla_status_observer_last_seen_timestamp_seconds{observer="engine-operator",pod="a"} 0 stale _x20`,
			`flotilla_status_observer{observer="engine-operator",state="Stale",pod="b"} _ _ 0 1x20`,
		},
		gaps: []time.Duration{4 * m}, fires: 6 * m, labels: `observer="engine-operator"`,
	}},
	// Scrapes fail: those of one replica before its metric is 0, and those of another service that reached the API server.
	"FlotillaAPIServerUnreachable": {{
		series: []string{
			`flotilla_api_server_reachable{job="ingester",pod="a"} 1 1 0 0 stale _x20`, `flotilla_api_server_reachable{job="ingester",pod="b"} 1 1 1 stale _x20`,
			`flotilla_api_server_reachable{job="engine-operator",pod="a"} 1 1 1 stale _x20`,
			`flotilla_api_server_reachable{job="superset-operator",pod="a"} 0 0 stale _x20`, `flotilla_api_server_reachable{job="superset-operator",pod="b"} _ _ 1x20`,
		},
		gaps: []time.Duration{4 * m, 14 * m}, fires: 6 * m, labels: `job="ingester"`,
	}},
	"FlotillaEngineNotReconciled": {{ // the operator restarts, and no reconcile of one engine succeeds
		series: []string{
			`firebolt_engine_spec_replicas{namespace="team-a",name="main",instance="i"} 2x20`, `firebolt_engine_last_reconciled_timestamp_seconds{namespace="team-a",name="main",instance="i"} 0 60 120 stale _x20`,
			`firebolt_engine_spec_replicas{namespace="team-a",name="well",instance="i"} 2x20`, `firebolt_engine_last_reconciled_timestamp_seconds{namespace="team-a",name="well",instance="i"} 0+60x20`,
		},
		gaps: []time.Duration{7 * m}, fires: 9 * m, labels: `name="main", namespace="team-a"`,
	}},
	"FlotillaIngesterObjectsRejected": {
		{ // the series begins with its first count
			series: []string{`flotilla_ingester_rejected_total{kind="Model",field="spec.x"} _x5 1x90`},
			gaps:   []time.Duration{4 * m, 80 * m}, fires: 6 * m, labels: `field="spec.x", kind="Model"`,
		},
		{ // a failed scrape does not make an old count new, and a second pod counts
			series: []string{
				`flotilla_ingester_rejected_total{kind="Model",field="spec.x",pod="a"} 1x85 stale 1x100`,
				`flotilla_ingester_rejected_total{kind="Model",field="spec.x",pod="b"} _x160 1x20`,
			},
			gaps: []time.Duration{101 * m, 146 * m, 159 * m}, fires: 161 * m, labels: `field="spec.x", kind="Model"`,
		},
	},
}
