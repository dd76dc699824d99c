// Package webhook gives every object of the Michelangelo kinds our finalizer when it is
// created, so that none can be deleted before its last state is stored.
//
// Two things do it, with the same result; docs/finalizer.md tells which to install:
//
//   - the MutatingAdmissionPolicy of config/admission, which the API server runs itself;
//   - for clusters that do not serve it, the webhook of config/webhook, which every
//     replica answers. It is off unless --enable-webhooks.
//
// Both fail open: an object is created whatever becomes of them, and the controller of
// its kind adopts it a moment later (package controller/objectsync). Both look at creations
// only, leave an object alone that has the finalizer, and keep the finalizers of others.
//
// The manifests name the kinds of the registry: [Manifests] writes them in go generate.
//
// Source: seed 003, "Finalizer Injection (API Server)".
package webhook
