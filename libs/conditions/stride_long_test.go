//go:build long

package conditions_test

// stride visits every class.
const stride = 1
