// Package migrations contains the schema changes of the ingester's database and applies them.
//
// The files are embedded, numbered and forward only. Each changes one table by one DDL
// statement that can be run again, since DDL cannot be rolled back: a migration killed halfway
// runs again. Changes expand first and contract releases later, so that
// the previous release works on this one's schema; a database that is ahead of the
// binary is therefore accepted.
//
// Several processes may call [Up] at once: a named lock of the server makes the others wait for
// the first. Without pending migrations no lock is acquired.
//
// Files for new tables, columns and indexes are written by go generate (see package
// registry); the lines "-- makes:" list the created objects. Other changes are numbered Go files:
// 00043_take_over adopts an earlier database (see package legacyschema).
// docs/migrations.md is the page for operators.
package migrations
