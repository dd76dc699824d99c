// Package certs serves the webhooks of a service with certificates: those of a directory
// that, for example, cert-manager fills, or certificates that the service issues and rotates
// itself. [Options] are the flags for both.
//
// One CA and one serving certificate are kept in a Secret that all replicas share.
// [Rotator] reads it once a minute in every replica, leader or not: it creates the
// Secret, renews expiring certificates, passes the certificate to the server through
// [Serving] and writes the CA into the caBundle of the webhook configurations.
// Replicas need no lock: after a conflict a replica reads the Secret again.
//
// The previous CA cross-signs a new one, and the serving certificate carries that
// signature in its chain. So a client that trusts only the old CA, only the new one or
// both accepts the certificate of any replica, before and after, in whatever order the
// Secret, the replicas and the caBundle change: no request is rejected.
//
// [Renew] decides what to do; it neither reads nor writes anything.
package certs
