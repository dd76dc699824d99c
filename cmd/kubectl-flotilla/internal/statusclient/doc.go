// Package statusclient talks to the status aggregator's HTTP API, as libs/contract/statusapi describes it.
//
// [Client.Resources] and [Client.Resource] ask once. [Client.Follow] reads the stream of events and keeps reading: after
// a broken connection it resumes behind the last event that it handed over, so a reader sees each one once and in order.
// Errors that the API answers are an [*Error]; everything else means that the API could not be reached.
package statusclient
