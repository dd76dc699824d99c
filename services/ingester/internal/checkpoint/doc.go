// Package checkpoint detects a database that was restored from an older backup.
//
// The row of an evicted object is its only copy. In a backup that is older than the
// eviction, that row is still live, as if the object were in the cluster, and the sweep
// would close it. A number that grows with the evictions is therefore kept twice: in the
// table checkpoint and in a ConfigMap of the service's namespace. Before an object is
// deleted for its eviction, in this order,
//
//  1. its row is committed as evicted,
//  2. the number in the database grows and is committed,
//  3. the same number is written to the cluster.
//
// A database whose number is not below that of the cluster thus has every completed
// eviction. A crash between the steps leaves the database ahead, which is harmless: the
// object still exists. While the database is behind, the ingester evicts no object and the
// sweep closes no row, until "ingester checkpoint --accept" has been run.
//
// Evictions that wait at the same time share one increment of the number.
package checkpoint
