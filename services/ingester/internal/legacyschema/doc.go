// Package legacyschema brings the tables of an earlier installation of the ingester to
// our schema, with everything that they hold.
//
// An earlier installation has the same 39 tables in another shape: narrower columns,
// a collation that ignores case, NULL where ours has none, numbers as text, other
// indexes, and neither incarnation nor evict_time. Two live rows may have one
// namespace and name, and rows whose objects were evicted look like all others.
//
// [Run] compares each table with what the registry wants. Where nothing differs, as
// on a database of our own, it writes nothing. Else, one kind after the other:
//
//  1. columns that are missing are added, NULL at first, but for incarnation;
//  2. of labels, annotations and then the main table, the rows are repaired until they
//     fit, some thousand objects in a transaction; what was decided about a row is listed
//     in the table taken_over by the same transaction;
//  3. then the table gets its shape by one ALTER. The main table's adds incarnation,
//     which says that the kind has been taken over.
//
// Each step finds out by itself whether it still has to be done, so a run that was
// killed between any two statements is simply started again. A row of an earlier
// installation has incarnation 0: the first sync of its object wins over it.
//
// What becomes of rows:
//
//   - of two live rows with one namespace and name the newest stays live (by
//     create_time, res_version, uid); the others are closed;
//   - live rows that may have been evicted get an evict_time, so that nobody takes
//     them for orphans: those with the annotation michelangelo/Immutable, and all of
//     kinds that are immutable. Where the object is still in the cluster, its first
//     sync takes the mark away;
//   - of duplicate labels or annotations the newest stays;
//   - NULL in a column that takes none becomes what the rest of the row says;
//   - text that is no number, in what becomes a number, becomes NULL.
//
// Source: reference section 2 for the earlier shapes.
package legacyschema
