// Package statusclient is a client of the status aggregator's HTTP API, which libs/contract/statusapi describes.
//
// [Client.Resources] and [Client.Resource] make single requests. [Client.Follow] reads the stream of events continuously:
// after a broken connection it resumes after the last delivered event, so each event is delivered once and in order.
// An error response of the API is an [*Error]; every other error means that the API was unreachable.
package statusclient
