// Package eventcheck compares the events that a subscriber received with the life of the objects: a [Recorder] keeps
// the changes of their conditions and phases in the API server, and [Compare] finds duplicate, wrong and missing events.
package eventcheck
