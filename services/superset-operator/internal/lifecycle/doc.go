// Package lifecycle decides what happens to the tasks of a Superset: which one
// runs, is retried, has failed for good, or is complete, and what may be done to
// the components meanwhile.
//
// [Decide] is pure: it takes the tasks that should have run ([Step]), what exists,
// the state that was persisted, and the time, and returns the new state with the
// actions that follow from it. The caller persists the state first and acts
// afterwards. That order is what makes every crash harmless:
//
//   - a completion is stored before the next task begins and before a Job is removed;
//   - an attempt is counted, and the completions that it puts in doubt forgotten,
//     before its Job is made, since that Job may change the database at once;
//   - a failure is stored before the failed Job is removed;
//   - an approval is stored before or with the first attempt that it allows;
//   - traffic leads to the maintenance page before a component is removed;
//   - an event comes with the state that records its cause, so it comes once.
//
// Names of Jobs are deterministic, each Job carries the checksum and the attempt
// that it stands for, and deletions name the Job's UID, so repeating an action
// after a crash changes nothing.
//
// # What is complete
//
// Each task has a checksum over its inputs and those of all tasks before it. Its
// slot's completedChecksum is what it last ran for; an attempt clears that of its
// own task and of all tasks after it, which therefore run after it. Beside it,
// lastCompletedChecksums holds what the components last ran with. It changes only
// when a whole sequence is complete, and when a task is disabled, whose completion
// it keeps. A task is complete when either names the checksum that is wanted; the
// latter counts only if it does so for all tasks before it too. So an image that is
// taken back during or after a migration is complete without a task, once every
// Job that runs is gone. A clone drops the database: when it begins, there is
// nothing to go back to, and lastCompletedChecksums is cleared.
//
// completedInputs is another matter: it stands in for the inputs of a disabled task
// in the checksums of those after it, so that disabling one changes nothing for
// them. It says how checksums are computed, not what the database holds, so no
// attempt clears it, the clone's neither: what has to run again is told by the
// completions. Clearing it in the middle of a sequence would only change the
// checksums of tasks that are about to run.
package lifecycle
