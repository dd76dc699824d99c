// Package access controls access to a service over HTTP: a TokenReview authenticates every
// request and a SubjectAccessReview authorizes it, so the service's endpoints follow
// the same roles as the API server.
//
//	authorizer, err := access.New(restConfig, access.Options{})
//	...
//	handler = authorizer.Authenticated(handler)             // 401 without a valid token
//	...
//	err = authorizer.Authorize(ctx, user, access.Attributes{Verb: "get", Group: g, Resource: "models", Namespace: ns, Name: n})
//	if err != nil {
//		access.WriteError(w, err)                            // 403, 500 or 503
//	}
//
// Reviews are cached for [Options.TTL], equal concurrent ones are sent once, and at most 16 of each kind are sent at
// the same time. If the API server does not answer, the caller gets
// 503 with Retry-After, and 500 if the service may not create reviews: a request never skips its
// review. Errors are those of the
// Kubernetes API (metav1.Status); they and the logs never contain a token.
//
// The service needs the verb create on tokenreviews.authentication.k8s.io and
// subjectaccessreviews.authorization.k8s.io.
package access
