// Package webhook rejects objects that could never run, when they are written.
//
// The rules are those of package validation, which the controllers enforce as well: a
// webhook only reports errors earlier. One response names every offending path. Other
// objects that the rules need are read from the API server, since a cache may be older
// than the request.
//
// Three kinds of requests skip the rules, so that objects that an earlier operator or release
// accepted stay manageable: those for terminating objects, updates that do not change the
// spec (finalizers, labels, annotations), and those in namespaces that this operator does not
// watch. Every replica serves, leader or not.
//
// [Options] are the flags, [Register] adds everything to a manager, docs/webhooks.md describes
// how to install the configurations of config/webhook.
package webhook
