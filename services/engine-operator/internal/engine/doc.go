// Package engine decides the next step of an engine. It is pure: [Decide] takes
// the desired, the recorded and the observed state, and returns the objects to create,
// the route, the objects to delete and the status to record. It reads no clock and no cluster.
//
// An engine moves through six phases (specification 001, "State machine"; every edge is in
// docs/state-machine.md):
//
//	           abandon, next number
//	             ┌──────┐
//	             ▼      │   pods ready              selector moved
//	(new) ──► creating ─┴────────────► switching ────────────────► draining
//	             ▲  │ reverted,             │ no older generation     │ no queries left,
//	             │  │ rolled back           │                         │ or time is over
//	             │  ▼                       ▼                         ▼
//	             └───────────────── stable / stopped ◄──────────── cleaning
//	                spec changed
//
// Rules that hold between any two writes; the tests check them by name (invariants_test.go):
//
//   - A number is recorded as allocated before anything of it exists, and never used again.
//   - The cluster Service selects the generation that should serve: the active one, or in
//     switching the current one once its pods are ready. It is repaired in every phase.
//   - A serving generation that loses its StatefulSet has priority: traffic is routed to the
//     generation with ready pods, and missing objects are created again.
//   - A serving generation is never deleted: one is deleted only when neither the status nor
//     the Service refers to it.
//   - At most two generations have a StatefulSet.
//   - A change of the spec during switching, draining and cleaning waits for the terminal phase.
//   - During creating, traffic returns to the active generation when it matches the spec,
//     or when the new one is overdue and rollback is enabled.
//
// A decision that creates or routes is returned only for a state that the API server
// confirmed ([Input].Confirmed): with a stale cache, a plan could restore
// an abandoned generation or move traffic backwards. Before that the plan contains only
// Confirm. This also holds for the deletion of the drained generation, which may serve again;
// every deletion checks the route of the Service, see [ConfirmUnrouted].
// Status writes need no confirmation: they carry the resource version of the state that the
// decision was made from.
package engine
