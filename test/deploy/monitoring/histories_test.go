package monitoring

import "time"

// history has series, and the times at which an alert must fire and must not fire.
type history struct {
	series []string // one value per minute
	gaps   []time.Duration
	fires  time.Duration
	labels string // some labels of the only firing alert
}

const m = time.Minute

// condition returns a series of a condition of superset team-a/main.
func condition(kind, status, values string) string {
	return `flotilla_status_condition{kind="superset",namespace="team-a",name="main",type="` + kind + `",status="` + status + `"} ` + values
}

// histories has a history for each alert.
var histories = map[string]history{
	"FlotillaResourceUnavailable": {
		series: []string{condition("Available", "False", "0 0 1x20"), condition("Progressing", "True", "0 0 1 1 1 1 0x20"), condition("Stopped", "True", "0x20")},
		gaps:   []time.Duration{1 * m, 5 * m, 7 * m}, fires: 9 * m, labels: `kind="superset", name="main", namespace="team-a"`,
	},
	"FlotillaResourceUnavailableLong": {
		series: []string{condition("Available", "False", "1x60"), condition("Progressing", "True", "1x60"), condition("Stopped", "True", "0x60")},
		gaps:   []time.Duration{29 * m}, fires: 31 * m, labels: `name="main"`,
	},
	"FlotillaResourceDegraded": {
		series: []string{condition("Degraded", "True", "0 0 1x20 0x10")},
		gaps:   []time.Duration{1 * m, 6 * m, 25 * m}, fires: 8 * m, labels: `name="main"`,
	},
	"FlotillaResourceUnknown": {
		series: []string{condition("Available", "Unknown", "0 0 1x20")},
		gaps:   []time.Duration{6 * m}, fires: 8 * m, labels: `name="main"`,
	},
	"FlotillaResourceStuck": {
		series: []string{condition("Progressing", "True", "1x30 0 1x90")},
		gaps:   []time.Duration{61 * m, 90 * m}, fires: 93 * m, labels: `name="main"`,
	},
	"FlotillaResourceFlapping": {
		series: []string{
			`flotilla_status_condition_transitions_total{kind="superset",namespace="team-a",name="main",type="Degraded"} 0x30 0+1x30`,
			`flotilla_status_condition_transitions_total{kind="superset",namespace="team-a",name="calm",type="Degraded"} 0x20 2x40`,
			`flotilla_status_condition_transitions_total{kind="superset",namespace="team-a",name="busy",type="Progressing"} 0+1x60`,
		},
		gaps: []time.Duration{30 * m, 33 * m}, fires: 45 * m, labels: `name="main", namespace="team-a", type="Degraded"`,
	},
	"FlotillaObserverStale": {
		series: []string{
			`flotilla_status_observer{observer="engine-operator",state="Stale"} 0 0 1x10`, `flotilla_status_observer_last_seen_timestamp_seconds{observer="engine-operator"} 0 60 60x10`,
			`flotilla_status_observer{observer="superset-operator",state="Stale"} 0x12`, `flotilla_status_observer_last_seen_timestamp_seconds{observer="superset-operator"} 0+60x12`,
			`flotilla_status_observer{observer="ingester",state="Stale"} 0 0 1x10`, // never seen
		},
		gaps: []time.Duration{3 * m}, fires: 5 * m, labels: `observer="engine-operator"`,
	},
	"FlotillaConditionsLeaseNotHeld": {
		series: []string{`flotilla_status_lease_held{pod="a"} 1 1 0x20`, `flotilla_status_lease_held{pod="b"} 0 0 0 0 1 0x20`},
		gaps:   []time.Duration{2 * m, 8 * m}, fires: 11 * m,
	},
	"FlotillaConditionsRefused": {
		series: []string{`flotilla_status_condition_writes_total{outcome="refused"} 0x5 0+1x20`, `flotilla_status_condition_writes_total{outcome="written"} 0+9x25`},
		gaps:   []time.Duration{5 * m, 9 * m}, fires: 13 * m, labels: `outcome="refused"`,
	},
	"FlotillaStatusLag": {
		series: []string{`flotilla_status_bus_lag_seconds{stream="FLOTILLA_OBS"} 1 1 60x20`, `flotilla_status_bus_lag_seconds{stream="FLOTILLA_HB"} 1x20`},
		gaps:   []time.Duration{6 * m}, fires: 8 * m, labels: `stream="FLOTILLA_OBS"`,
	},
	"FlotillaDeadLetters": {
		series: []string{`flotilla_status_dead_letters_total{cause="forged",parked="true"} 0x5 3x40`, `flotilla_status_dead_letters_total{cause="malformed",parked="false"} 0x5 3x40`},
		gaps:   []time.Duration{4 * m, 30 * m}, fires: 7 * m, labels: `cause="forged"`,
	},
	"FlotillaDeadLettersLost": {
		series: []string{`flotilla_status_dead_letters_total{cause="forged",parked="true"} 0x5 3x40`, `flotilla_status_dead_letters_total{cause="malformed",parked="false"} 0x5 3x40`},
		gaps:   []time.Duration{4 * m, 30 * m}, fires: 7 * m, labels: `cause="malformed"`,
	},
	"FlotillaPublishErrors": {
		// A denied write gets no reply: once the Lease has ended, the probe makes some each minute.
		series: []string{
			`flotilla_status_publish_results_total{store="kv",outcome="denied"} 0x5 8+8x30`,
			`flotilla_status_publish_results_total{store="kv",outcome="failed"} 0x35`,
			`flotilla_status_publish_results_total{store="kv",outcome="conflict"} 0+1x35`,
		},
		gaps: []time.Duration{5 * m, 14 * m}, fires: 18 * m, labels: `outcome="denied", store="kv"`,
	},
	"FlotillaHistoryGap": {
		series: []string{`flotilla_status_gaps_total 0x5 2x90`},
		gaps:   []time.Duration{5 * m, 80 * m}, fires: 8 * m,
	},
	"FlotillaBusDisconnected": {
		series: []string{`flotilla_bus_connected{job="ingester",pod="a"} 1 1 0x20`, `flotilla_bus_connected{job="engine-operator",pod="a"} 1x20`},
		gaps:   []time.Duration{6 * m}, fires: 8 * m, labels: `job="ingester"`,
	},
	"FlotillaBusOutboxStuck": {
		series: []string{
			`flotilla_bus_outbox_depth{job="ingester",pod="leader"} 0 5x40`, `flotilla_bus_outbox_depth{job="ingester",pod="standby"} 0x41`,
			`flotilla_bus_outbox_depth{job="engine-operator"} 5 5 0 5 5 5 0x40`,
		},
		gaps: []time.Duration{15 * m}, fires: 22 * m, labels: `job="ingester"`,
	},
	"FlotillaBusPermissionDenied": {
		series: []string{`flotilla_bus_permission_violations_total{job="ingester"} 0x5 1x30`},
		gaps:   []time.Duration{4 * m, 25 * m}, fires: 7 * m, labels: `job="ingester"`,
	},
	"FlotillaBusStreamReset": {
		series: []string{`flotilla_bus_stream_resets_total{job="ingester"} 0x5 1x90`},
		gaps:   []time.Duration{4 * m, 80 * m}, fires: 7 * m, labels: `job="ingester"`,
	},
	"FlotillaServiceAbsent": {
		series: []string{
			`flotilla_build_info{service="superset-operator"} 1x20`, `flotilla_build_info{service="engine-operator"} 1x20`,
			`flotilla_build_info{service="ingester"} 1 1 stale _x20`, `flotilla_build_info{service="status-aggregator"} 1x20`,
		},
		gaps: []time.Duration{1 * m, 5 * m}, fires: 8 * m, labels: `service="ingester"`,
	},
	"FlotillaAPIServerUnreachable": {
		series: []string{`flotilla_api_server_reachable{job="ingester",pod="a"} 1 1 0x20`, `flotilla_api_server_reachable{job="engine-operator",pod="a"} 0x20`, `flotilla_api_server_reachable{job="engine-operator",pod="b"} 1x20`},
		gaps:   []time.Duration{3 * m}, fires: 5 * m, labels: `job="ingester"`,
	},
	"FlotillaWebhookCertificateExpires": {
		series: []string{
			`flotilla_webhook_certificate_expiry_timestamp_seconds{job="engine-operator",pod="a"} 9000000x20 9000000x90`,
			`flotilla_webhook_certificate_expiry_timestamp_seconds{job="engine-operator",pod="b"} 9000000x20 1200000x90`,
			`flotilla_webhook_certificate_expiry_timestamp_seconds{job="ingester",pod="a"} 9000000x110`,
		},
		gaps: []time.Duration{20 * m, 79 * m}, fires: 90 * m, labels: `job="engine-operator"`,
	},
	"FlotillaReconcileErrors": {
		series: []string{
			`controller_runtime_reconcile_errors_total{job="flotilla-system/superset-operator",controller="superset"} 0x5 0+30x60`,
			`controller_runtime_reconcile_errors_total{job="flotilla-system/ingester",controller="ingester_Model"} 0+1x60`,
			`controller_runtime_reconcile_errors_total{job="foreign",controller="superset"} 0+30x60`,
		},
		gaps: []time.Duration{15 * m}, fires: 35 * m, labels: `controller="superset", job="flotilla-system/superset-operator"`,
	},
	"FlotillaReconcileStuck": {
		series: []string{`workqueue_longest_running_processor_seconds{job="engine-operator",name="engine"} 0 60+60x20`, `workqueue_longest_running_processor_seconds{job="engine-operator",name="instance"} 0x20`},
		gaps:   []time.Duration{9 * m}, fires: 12 * m, labels: `job="engine-operator", name="engine"`,
	},
	"FlotillaSupersetTaskFailed": {
		series: []string{`superset_task_runs_total{task="migrate",result="failed"} 0x5 1x30`, `superset_task_runs_total{task="init",result="retried"} 0x5 1x30`},
		gaps:   []time.Duration{4 * m, 25 * m}, fires: 7 * m, labels: `task="migrate"`,
	},
	"FlotillaSupersetTaskCannotStart": {
		series: []string{`superset_tasks_cannot_start{task="migrate"} 0 0 1x20`, `superset_tasks_cannot_start{task="init"} 0x20`},
		gaps:   []time.Duration{6 * m}, fires: 8 * m, labels: `task="migrate"`,
	},
	"FlotillaSupersetMaintenanceLong": {
		series: []string{`superset_maintenance_active 0 1x100`},
		gaps:   []time.Duration{55 * m}, fires: 70 * m,
	},
	"FlotillaSupersetAwaitsApproval": {
		series: []string{`superset_instances{phase="AwaitingApproval"} 0 0 1x1500`},
		gaps:   []time.Duration{23 * time.Hour}, fires: 1443 * m,
	},
	"FlotillaEngineRolloutOverdue": {
		series: []string{`firebolt_engine_status_condition{namespace="team-a",name="main",instance="i",type="RolloutOverdue"} 0 0 1x20`},
		gaps:   []time.Duration{2 * m}, fires: 4 * m, labels: `name="main", namespace="team-a"`,
	},
	"FlotillaSupersetDegraded": {
		series: []string{`superset_instances{job="superset-operator",namespace="a",phase="Degraded",pod="a"} 0 0 1x20`, `superset_instances{job="superset-operator",namespace="a",phase="Running"} 1x22`},
		gaps:   []time.Duration{11 * m}, fires: 13 * m, labels: `phase="Degraded"`,
	},
	"FlotillaEngineNotReady": {
		series: []string{
			`firebolt_engine_status_condition{namespace="team-a",name="main",instance="i",type="Ready"} 1 1 0x20`, `firebolt_engine_spec_replicas{namespace="team-a",name="main",instance="i"} 2x22`,
			`firebolt_engine_status_condition{namespace="team-a",name="zero",instance="i",type="Ready"} 0x22`, `firebolt_engine_spec_replicas{namespace="team-a",name="zero",instance="i"} 0x22`,
			`firebolt_engine_status_condition{namespace="team-a",name="stopped",instance="i",type="Ready"} 0x22`, `firebolt_engine_spec_replicas{namespace="team-a",name="stopped",instance="i"} 2x22`,
			`firebolt_engine_status_phase{namespace="team-a",name="stopped",instance="i",phase="stopped"} 1x22`,
			`firebolt_engine_status_condition{namespace="team-a",name="drains",instance="i",type="Ready"} 0x22`, `firebolt_engine_spec_replicas{namespace="team-a",name="drains",instance="i"} 2x22`,
			`firebolt_engine_pods_ready{namespace="team-a",name="drains",instance="i"} 2x22`, `firebolt_engine_pods_ready{namespace="team-a",name="main",instance="i"} 2 2 0x20`,
		},
		gaps: []time.Duration{11 * m}, fires: 13 * m, labels: `name="main", namespace="team-a"`,
	},
	"FlotillaEngineRolledBack": {
		series: []string{`firebolt_engine_status_condition{namespace="team-a",name="main",instance="i",type="RolledBack"} 0 0 1x20`, `firebolt_engine_status_condition{namespace="team-a",name="main",instance="i",type="Ready"} 1x22`},
		gaps:   []time.Duration{2 * m}, fires: 4 * m, labels: `name="main", namespace="team-a"`,
	},
	"FlotillaEngineDrainCheckFailing": {
		// The checks of the one engine fail, except two; of the other one, a check each five minutes, and every second one fails.
		series: []string{`firebolt_engine_drain_check_failing{namespace="team-a",name="main",instance="i"} 0 0 1 1 1 0 1 1 1 0 1x20`, `firebolt_engine_drain_check_failing{namespace="team-a",name="twice",instance="i"} 0 1x4 0x4 1x4 0x30`},
		gaps:   []time.Duration{11 * m}, fires: 13 * m, labels: `name="main", namespace="team-a"`,
	},
	"FlotillaEngineQueriesCutOff": {
		series: []string{`firebolt_engine_drains_total{outcome="expired"} 0x5 1x30`, `firebolt_engine_drains_total{outcome="drained"} 0+1x35`},
		gaps:   []time.Duration{4 * m, 25 * m}, fires: 7 * m,
	},
	"FlotillaEngineNotReconciled": {
		series: []string{`firebolt_engine_last_reconciled_timestamp_seconds{namespace="team-a",name="main",instance="i"} 0 60 60x20`, `firebolt_engine_last_reconciled_timestamp_seconds{namespace="team-a",name="well",instance="i"} 0+60x25`},
		gaps:   []time.Duration{9 * m}, fires: 13 * m, labels: `name="main", namespace="team-a"`,
	},
	"FlotillaIngesterMySQLUnreachable": {
		series: []string{`flotilla_ingester_mysql_reachable{pod="a"} 1 1 0x20`, `flotilla_ingester_mysql_reachable{pod="b"} 0x22`},
		gaps:   []time.Duration{4 * m}, fires: 6 * m,
	},
	"FlotillaIngesterObjectsRejected": {
		series: []string{`flotilla_ingester_rejected_total{kind="Model",field="spec.x"} 0x5 1x90`},
		gaps:   []time.Duration{4 * m, 80 * m}, fires: 7 * m, labels: `field="spec.x", kind="Model"`,
	},
	"FlotillaIngesterErrors": {
		series: []string{`flotilla_ingester_errors_total{stage="write",class="other"} 0x5 1+1x60`, `flotilla_ingester_errors_total{stage="write",class="contention"} 0+1x60`},
		gaps:   []time.Duration{4 * m, 10 * m}, fires: 18 * m, labels: `class="other", stage="write"`,
	},
	"FlotillaIngesterOutboxLag": {
		series: []string{`flotilla_ingester_outbox_lag_seconds 0 0 400x20`},
		gaps:   []time.Duration{3 * m}, fires: 5 * m,
	},
	"FlotillaIngesterSweepAborted": {
		series: []string{`flotilla_ingester_sweep_aborted_total{kind="Model",reason="threshold"} 0x5 1x90`, `flotilla_ingester_sweep_aborted_total{kind="Project",reason="error"} 0x5 1x90`},
		gaps:   []time.Duration{4 * m, 80 * m}, fires: 7 * m, labels: `kind="Model", reason="threshold"`,
	},
	"FlotillaIngesterDatabaseBehind": {
		series: []string{`flotilla_ingester_database_behind 0x5 1x20`},
		gaps:   []time.Duration{4 * m}, fires: 6 * m,
	},
	"FlotillaIngesterSweepsFail": {
		series: []string{`flotilla_ingester_sweep_last_success_timestamp_seconds{pod="a"} 0+60x30 1800x100`, `flotilla_ingester_sweep_last_success_timestamp_seconds{pod="b"} 0x130`},
		gaps:   []time.Duration{119 * m}, fires: 121 * m,
	},
	"FlotillaIngesterCheckpointUnprotected": {
		series: []string{`flotilla_ingester_checkpoint_unprotected{pod="a"} 0 0 1x20`, `flotilla_ingester_checkpoint_unprotected{pod="b"} 0x22`},
		gaps:   []time.Duration{16 * m}, fires: 18 * m,
	},
	"FlotillaIngesterSlow": {
		series: []string{
			`flotilla_ingester_event_to_commit_seconds_bucket{kind="Model",le="5"} 0+10x5 50x40`,
			`flotilla_ingester_event_to_commit_seconds_bucket{kind="Model",le="10"} 0+10x45`,
			`flotilla_ingester_event_to_commit_seconds_bucket{kind="Model",le="+Inf"} 0+10x45`,
		},
		gaps: []time.Duration{5 * m, 10 * m}, fires: 22 * m,
	},
}
