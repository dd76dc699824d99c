//go:build !long

package migrations_test

// some are the tables of the kinds of [TestUpResumesAfterEachKilledStatement]. One is enough,
// since each is treated alone; of this one there is all that must be decided about.
var some = []string{"project"}
