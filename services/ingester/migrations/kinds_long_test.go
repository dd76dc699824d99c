//go:build long

package migrations_test

// testKinds are the tables of the kinds of [TestUpResumesAfterEachKilledStatement]: one that is
// immutable, one with evicted rows, and two with numbers and rows of one name.
var testKinds = []string{"model", "pipelinerun", "project", "triggerrun"}
