// Package webhook rejects invalid objects on create and update.
//
// The rules are those of package validation, which the controllers enforce as well: a
// webhook only reports errors earlier. One response names every offending path. Related
// objects are read from the API server, since a cache may be older
// than the request.
//
// Three kinds of requests skip the rules, so that objects that an earlier operator or release
// accepted stay manageable: those for terminating objects, updates that do not change the
// spec (finalizers, labels, annotations), and those in namespaces that this operator does not
// watch. Every replica serves, leader or not.
//
// [Options] defines the flags, [Register] adds the webhooks to a manager, docs/webhooks.md describes
// how to install the configurations of config/webhook.
package webhook
