// Package query compiles requests for stored objects into SQL text and arguments.
// It is pure: package storage/mysql runs the statements.
//
// [Compile] compiles a request (namespace, selectors, criteria, order, page) into a
// [Plan]; every unknown or malformed part of it is a storage.ErrInvalid that names the
// part. [Compile] never ignores a part: without one of its selectors a request would
// return, or delete, objects that it does not select.
//
// # How a page is found
//
// The tables are wide and their primary key is random, so each row that is examined
// costs a random read. A plan therefore has three forms, and [Plan.Choose] takes the
// cheapest one by counting, up to a bound, what a label matches:
//
//   - from the label: a label that matches few objects drives the plan by idx_key_value,
//     and the objects are sorted;
//   - in the order: for a label that matches many, the index of the order is scanned until
//     the page is full, with a lookup of the label. That index and the labels are narrow;
//     only rows that match are read. Orders without an index start from the label as well;
//   - plain: without a required label, the index of the order of creation is read until the page is full; in other
//     orders, or with conditions on fields, the server chooses.
//
// EXPLAIN on MySQL 9.7 and MariaDB 10.11 shows for 100,000 rows: idx_key_value (ref) and
// PRIMARY (eq_ref) for the first form; idx_delete_time_create_time (ref, backwards),
// idx_obj_uid_key (eq_ref) and PRIMARY (eq_ref) for the second. Without a forced index both servers start from the
// label whenever it matches less than a third of the rows, which takes a hundred times as long.
//
// By default, nothing deletes the rows of deleted objects. Indexes that begin with the delete time, or with the namespace and
// the delete time, have the live rows apart from them.
//
// The rows of a page are found by uid and order alone; their content is read after that, so
// that sorting never carries it.
package query
