// Package platform runs the local stack and looks into it, for the whole-stack
// test and for the benchmarks. It starts everything with make, as a person would,
// in a separate directory, and connects to what make up leaves behind.
package platform
