// Package schema derives the MySQL tables from the registry: three for each kind,
// and the shared ones. It renders DDL that runs on both MySQL and MariaDB, and compares
// a database with the desired tables.
//
// The tables follow these rules:
//
//   - utf8mb4_bin everywhere: label values and names are case-sensitive in Kubernetes;
//   - widths follow Kubernetes' limits: a label key has up to 317 characters, an
//     annotation up to 256 KiB;
//   - DATETIME(6) in UTC, LONGBLOB for the protobuf form, JSON for the whole object;
//   - (incarnation, res_version) orders the versions of an object; the incarnation is
//     bumped when a cluster was restored from a backup and its versions are lower again;
//   - delete_time NULL means live; evict_time is set on a live row whose object was
//     evicted from the cluster;
//   - no second unique key on the main table: an upsert would write a new object's
//     content into the old object's row. The writer closes superseded rows instead.
//
// Source: specification 003 "Schema Layout"; widths and hazards from reference section 2.
package schema
