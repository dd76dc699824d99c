// Package readmodeltest provides tests with a bus with messages and objects in a cluster, for the code that
// serves data of package readmodel.
package readmodeltest
