// Package webhook refuses objects that could never run, when they are written.
//
// The rules are those of package admit, which the controllers enforce as well: a webhook
// changes when a user learns of an error, never whether. One answer names every offending
// path. What the rules need of other objects is read live, since a cache may be behind
// the request.
//
// Three things pass whatever the rules say, so that nothing becomes unmanageable that an
// earlier operator or release accepted: objects that are being deleted, updates that leave
// the spec alone (finalizers, labels, annotations), and objects in namespaces that this
// operator does not work in. Every replica serves, leader or not.
//
// [Options] are the flags, [Register] puts everything on a manager, docs/webhooks.md tells
// how to install the configurations of config/webhook.
package webhook
