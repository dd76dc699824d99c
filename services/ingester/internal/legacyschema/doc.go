// Package legacyschema adopts the tables of an earlier installation of the ingester: it
// migrates them to our schema with all their content.
//
// An earlier installation has the same 39 tables in another shape: narrower columns,
// a collation that ignores case, NULL in columns that are NOT NULL in our schema, numbers
// as text, other indexes, and neither incarnation nor evict_time. Two live rows may have
// the same namespace and name, and rows of evicted objects are not marked.
//
// [Run] compares each table with the schema that the registry requires. Without a
// difference, as on a database with the current schema, it writes nothing. Otherwise, kind
// by kind:
//
//  1. missing columns are added, NULL at first, except incarnation;
//  2. of labels, annotations and then the main table, the rows are repaired until they
//     fit, some thousand objects in a transaction; the same transaction records the
//     decisions about rows in the table taken_over;
//  3. then one ALTER changes the table to our schema. The main table's adds incarnation,
//     which marks the kind as adopted.
//
// Each step detects whether it is already done, so another run continues after a kill
// between any two statements. A row of an earlier installation has incarnation 0: the
// first sync of its object supersedes it.
//
// Rows are changed as follows:
//
//   - of two live rows with one namespace and name the newest stays live (by
//     create_time, res_version, uid); the others are closed;
//   - live rows that may have been evicted get an evict_time, so that they do not
//     count as orphans: those with the annotation michelangelo/Immutable, and all of
//     immutable kinds. If the object is still in the cluster, its first sync clears
//     the mark;
//   - of duplicate labels or annotations the newest stays;
//   - NULL in a NOT NULL column becomes the value that follows from the other columns;
//   - text that is not a number, in a column that becomes numeric, becomes NULL.
//
// Source: reference section 2 for the earlier shapes.
package legacyschema
