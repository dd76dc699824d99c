// Package eventcheck compares the events that a subscriber received with the history of the objects: a [Recorder]
// watches their conditions and phases in the API server, and [Compare] finds duplicate, wrong and missing events.
package eventcheck
