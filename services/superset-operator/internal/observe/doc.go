// Package observe reads the objects of one Superset from the cache into a snapshot. It makes no request. It defines which
// objects belong to a Superset, can be adopted, or block a drain, and how the Jobs of tasks and their pods ended.
package observe
