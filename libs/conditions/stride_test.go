//go:build !long

package conditions_test

// stride is prime to the number of values of every kind, so that all of them are met
// in every pairing.
const stride = 211
