// Package readmodeltest gives tests a bus with messages, and objects in a cluster, for what is
// served from package readmodel.
package readmodeltest
