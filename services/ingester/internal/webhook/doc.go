// Package webhook adds our finalizer to every object of the Michelangelo kinds when it is
// created, so that none is deleted before its last state is stored.
//
// Two mechanisms do so, with the same result; docs/finalizer.md describes which to install:
//
//   - the MutatingAdmissionPolicy of config/admission, which the API server evaluates;
//   - for clusters that do not serve it, the webhook of config/webhook, which every
//     replica serves. It is off unless --enable-webhooks.
//
// Both fail open: an object is created even if they fail, and the controller of its kind
// adds the finalizer a moment later (package controller/objectsync). Both handle creations
// only, leave an object that has the finalizer unchanged, and keep foreign finalizers.
//
// The manifests name the kinds of the registry: [Manifests] writes them in go generate.
//
// Source: specification 003, "Finalizer Injection (API Server)".
package webhook
