// Package page opens the status page of the status-aggregator in a browser, with the API of a made-up fleet behind it.
//
// The server is TestServe of services/status-aggregator/internal/page in a process of its own, so that the service
// requires no browser driver. The tests change it by requests on its standard input.
package page
