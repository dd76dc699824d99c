// Package argocd tests the health scripts of deploy/argocd like Argo CD runs them: a script
// gets an object and returns its health, with only the libraries base, package and table,
// within one second.
//
// libs/conditions computes the conditions for the scripts, so that the tests fail if a change
// there requires a change of a script.
package argocd
