//go:build long

package migrations_test

// some are the tables of the kinds of [TestUpResumesAfterEachKilledStatement]: one that is
// immutable, one with evicted rows, and two with numbers and rows of one name.
var some = []string{"model", "pipelinerun", "project", "triggerrun"}
