// Package permissions compares the RBAC rules of a service account with the requests in the API server's audit events. It
// does not call the API server and does not evaluate authorization: the audit event has the result of each request.
package permissions
