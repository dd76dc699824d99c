// Package kinds finds custom resources the way kubectl does: kinds by discovery, with short names and plurals, in the
// cluster and namespace that the kubeconfig and the flags name. Kinds that are not installed are left out, so the
// plugin works with any set of operators. [New] is the entry point.
package kinds
