// Package lifecycle decides the next action of the tasks of a Superset (which one runs, is retried, has failed
// permanently, or is complete) and which changes to the components are allowed meanwhile.
//
// [Decide] is pure: it takes the desired tasks ([Step]), the observed objects, the persisted state, and the time, and
// returns the new state with the actions that follow from it. The caller persists the state first and acts
// afterwards. This order makes every crash safe:
//
//   - a completion is stored before the next task begins and before a Job is deleted;
//   - an attempt is counted, and the completions that it invalidates are cleared, before
//     its Job is created, since that Job may change the database at once;
//   - a failure is stored before the failed Job is deleted;
//   - an approval is stored before or with the first attempt that it allows;
//   - traffic is routed to the maintenance page before a component is deleted;
//   - an event is returned with the state that records its cause, so it is emitted once.
//
// Job names are deterministic, each Job carries its checksum and attempt, and deletions carry the UID of the Job, so
// repeating an action after a crash changes nothing.
//
// # Completion
//
// Each task has a checksum over its inputs and those of all tasks before it. completedChecksum in its status entry is
// the one that it last ran for. An attempt clears it for the task and for all following tasks, which therefore run
// again. lastCompletedChecksums holds the checksums that the components last ran with. It changes only when a whole
// sequence is complete, or when a task is disabled, whose completion it keeps. A task is complete if either has the
// desired checksum; lastCompletedChecksums counts only if it has the desired checksum for all previous tasks too. So
// a reverted image is complete without a task, once every active Job is deleted. A clone drops the database: when it
// begins, no earlier state can be restored, so lastCompletedChecksums is cleared.
//
// completedInputs holds the inputs of disabled tasks, which are part of the checksums of the following tasks, so that
// disabling a task does not change them. It defines how checksums are computed, not what the database holds, so no
// attempt clears it, not even that of a clone: the completions decide what has to run again. Clearing it during a
// sequence would only change the checksums of the remaining tasks.
package lifecycle
