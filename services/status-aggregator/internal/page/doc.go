// Package page holds the status page: files that a browser runs without a build step.
//
// Nothing is loaded from other servers. The files contain no data and
// are public; they read the data from the HTTP API with the user's token.
//
// Text from the cluster reaches the page only as text: the Content-Security-Policy forbids
// scripts and styles other than these files, and (require-trusted-types-for) creating
// markup from strings.
package page
