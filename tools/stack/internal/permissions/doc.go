// Package permissions compares what a service account was granted with what it did: rules of RBAC with the API server's
// audit events. Nothing here talks to the API server, and nothing decides in its place: whether a request was denied
// is read from the audit event.
package permissions
