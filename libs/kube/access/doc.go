// Package access decides who may ask a service over HTTP: every request is authenticated
// by a TokenReview and authorised by a SubjectAccessReview, so a service's endpoints obey
// the same roles as the API server.
//
//	gate, err := access.New(restConfig, access.Options{})
//	...
//	handler = gate.Authenticated(handler)                    // 401 without a valid token
//	...
//	err = gate.Authorize(ctx, user, access.Attributes{Verb: "get", Group: g, Resource: "models", Namespace: ns, Name: n})
//	if err != nil {
//		access.WriteError(w, err)                           // 403 or 503
//	}
//
// Answers of the API server are kept for [Options.TTL]. When there is none, the caller gets
// 503 with Retry-After: nothing is ever let through unasked. Errors are those of the
// Kubernetes API (metav1.Status); they and the logs never contain a token.
//
// The service needs the verb create on tokenreviews.authentication.k8s.io and
// subjectaccessreviews.authorization.k8s.io.
package access
