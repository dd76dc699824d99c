// Package migrations holds the schema changes of the ingester's database and runs them.
//
// The files are embedded, numbered and forward only. Each holds one DDL statement
// that can be run again, since DDL cannot be rolled back: a migration killed halfway
// runs again. Changes expand first and contract releases later, so that
// the previous release works on this one's schema; a database that is ahead of the
// binary is therefore accepted.
//
// Several processes may call [Up] at once: a named lock of the server lets one of
// them work while the others wait. With nothing to do no lock is taken.
//
// Files for new tables, columns and indexes are written by go generate (see package
// registry); the lines "-- makes:" tell it what exists. What they cannot say is a
// numbered Go file: 00043_take_over brings an earlier database to our schema (see
// package legacyschema). docs/migrations.md is the page for operators.
package migrations
