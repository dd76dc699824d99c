// Package page holds the status page: files that a browser runs as they are.
//
// There is no build step and nothing is loaded from elsewhere. The files hold no data and
// are public; what they show, they ask the HTTP API for with the reader's token.
//
// Text from outside reaches the page as text only: the Content-Security-Policy forbids
// scripts and styles that are not these files, and (require-trusted-types-for) any way of
// making markup of a string.
package page
