// Package argocd tests the health scripts of deploy/argocd as Argo CD runs them: one
// object in, a health out, no library but base, package and table, one second at most.
//
// The conditions that the scripts read come from libs/conditions, so that a change of
// the fold that a script does not follow fails here.
package argocd
