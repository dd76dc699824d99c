// Package livetest gives tests a bus with messages, and objects in a cluster, for what is
// served from package live.
package livetest
