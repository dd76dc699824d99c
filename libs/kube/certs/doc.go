// Package certs serves the webhooks of a service with certificates: those of a folder that
// cert-manager, for instance, fills, or certificates that the service makes and keeps itself.
// [Options] are the flags for both.
//
// A certificate authority and one serving certificate live in a Secret that all replicas
// share. [Rotator] looks at it once a minute in every replica, leader or not: it creates
// the Secret, renews what comes to its end, hands the certificate to the server through
// [Serving] and writes the authority into the caBundle of the webhook configurations.
// Replicas need no lock: a write that lost a race is read again.
//
// A new authority is signed by its predecessor too, and the serving certificate carries
// that signature in its chain. So a client that trusts only the old authority, only the
// new one or both accepts what any replica serves, before and after, in whatever order
// the Secret, the replicas and the caBundle change: no request is refused.
//
// What to do is decided by [Renew], which neither reads nor writes anything.
package certs
