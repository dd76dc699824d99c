// Package vuln pins govulncheck, in a module of its own so that a new version of it rebuilds
// no other tool. hack/vuln.sh runs it; the tests hold that script to what it promises.
package vuln
