// Package metrics declares the metrics of the aggregator.
//
// Labels take their values from closed lists (kinds, condition types, outcomes,
// event names) or from the names of existing objects, whose series are dropped
// when the object is deleted. kind is the token of the contract, for example "superset".
//
// Of each object, labels kind, namespace, name and those named here. There are at most 12
// series of an object; those marked * have more with --metrics-per-object, all types and
// statuses, which makes 37:
//
//	flotilla_status_condition{type,status}                  gauge    * 1 for the current status, else 0; all of Available, True of Degraded, Progressing, Paused, Stopped
//	flotilla_status_condition_since_timestamp_seconds{type} gauge    * lastTransitionTime of Available; time() minus it is the time in state
//	flotilla_status_condition_transitions_total{type}       counter  * flips of Available and Degraded; a flapping one has a high increase()
//	flotilla_status_held_transitions{type}                  gauge      1 while damping holds a flip back, else absent
//	flotilla_status_observation_timestamp_seconds           gauge      when the observation behind the conditions was stored; time() minus it is its age
//
// Of each observer:
//
//	flotilla_status_observer{observer,state}                        gauge  1 for the current state: Disconnected, Unconfirmed, Alive or Stale
//	flotilla_status_observer_last_seen_timestamp_seconds{observer}  gauge  last heartbeat or observation; observations are rare, this must advance
//
// Of the process:
//
//	flotilla_status_resources{kind,type,status}              gauge      objects by the status of each condition, all types and statuses
//	flotilla_status_time_in_state_seconds{kind,type,status}  histogram  how long a status lasted that a condition has left; its count has the flips of all types
//	flotilla_status_observations_total{outcome}              counter    applied, stale, poison, unwatched
//	flotilla_status_dead_letters_total{cause,parked}         counter    subject, kind, observer, oversize, malformed, unsupported, forged
//	flotilla_status_events_published_total{event}            counter    lifecycle events that the stream accepted
//	flotilla_status_gaps_total                               counter    those of them that mark missing history
//	flotilla_status_publish_results_total{store,outcome}     counter    store kv, lifecycle, dlq; outcome stored, duplicate, conflict, denied, failed
//	flotilla_status_tombstones_purged_total{outcome}         counter    purges of the observations of deleted objects: purged, denied, failed, dropped
//	flotilla_status_write_conflicts_total{store}             counter    kv, lifecycle, status
//	flotilla_status_condition_writes_total{outcome}          counter    written, unchanged, refused
//	flotilla_status_bus_lag_seconds{stream}                  gauge      age of the newest message when it was read
//	flotilla_status_lease_held                               gauge      1 while this process holds the Lease
//
// The connection to the bus has metrics of its own, flotilla_bus_*: connected,
// published_total{outcome}, permission_violations_total and others.
package metrics
