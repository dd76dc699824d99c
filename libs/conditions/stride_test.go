//go:build !long

package conditions_test

// stride is coprime to the number of values of every kind, so that the run visits every
// pair of values.
const stride = 211
