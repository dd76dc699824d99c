// Package engine decides what happens to an engine next. It is pure: [Decide] takes
// what is wanted, what was recorded and what was seen, and returns what to create,
// where to route, what to delete and what to record. It reads no clock, no cluster.
//
// An engine moves through six phases (seed 001, "State machine"):
//
//	           abandon, next number
//	             ┌──────┐
//	             ▼      │   pods ready              selector moved
//	(new) ──► creating ─┴────────────► switching ────────────────► draining
//	             ▲                          │ no older generation     │ no queries left
//	             │ spec changed             ▼                         ▼
//	             └───────────────── stable / stopped ◄──────────── cleaning
//
// Rules that hold between any two writes, and that the tests check by name:
//
//   - A number is recorded as allocated before anything of it exists, and never used again.
//   - The cluster Service selects the generation that should serve: the active one, or in
//     switching the current one once its pods are ready. It is repaired in every phase.
//   - What serves is never deleted: a generation goes only when neither the status nor the
//     Service refers to it.
//   - At most two generations have a StatefulSet.
//   - A change of the spec during switching, draining and cleaning waits for the terminal phase.
//
// A decision that creates, routes or deletes is returned only for a state that the API
// server confirmed ([Input].Confirmed): a cache may lag, and a plan from an old state
// could bring an abandoned generation back or move traffic backwards. Before that the
// plan says Confirm and nothing else. Status writes need no confirmation, they carry the
// resource version that the decision was made from.
package engine
