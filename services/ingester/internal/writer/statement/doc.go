// Package statement runs the SQL statements of a transaction, prepared where their size repeats.
package statement
