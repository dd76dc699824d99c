//go:build !long

package migrations_test

// testKinds are the tables of the kinds of [TestUpResumesAfterEachKilledStatement]. One is enough,
// since kinds are adopted independently; its rows cover all cases of the adoption.
var testKinds = []string{"project"}
