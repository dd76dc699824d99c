// Package lifecycle decides what happens to the tasks of a Superset: which one
// runs, is retried, has failed for good, or is complete.
//
// [Decide] is pure: it takes the tasks that should have run ([Step]), the Jobs
// that exist, the state that was persisted, and the time, and returns the new
// state with the actions that follow from it. The caller persists the state first
// and acts afterwards. That order is what makes every crash harmless:
//
//   - a completion is stored before the next task begins and before a Job is removed;
//   - an attempt is counted, and the previous completion forgotten, before its Job
//     is made, since that Job may change the database from its first moment on;
//   - a failure is stored before the failed Job is removed.
//
// Names of Jobs are deterministic, each Job carries the checksum and the attempt
// that it stands for, and deletions name the Job's UID, so repeating an action
// after a crash changes nothing.
package lifecycle
