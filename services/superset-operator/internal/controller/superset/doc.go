// Package superset reconciles Superset resources.
//
// [Reconciler.Reconcile] is a list of named steps over one [pass]: the packages
// resolve, desired, lifecycle and status decide, this package reads, applies and
// persists. Three rules hold it together:
//
//   - the status is persisted before anything that depends on it is done, and every
//     write carries the resourceVersion of what was decided from, so a decision made
//     from old data changes nothing;
//   - nothing is written that is already so: a reconcile in which nothing changed
//     makes no request at all;
//   - every reconcile ends with an observation, also one that failed, is paused, or
//     is refused.
package superset
