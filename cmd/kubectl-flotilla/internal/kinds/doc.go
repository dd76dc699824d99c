// Package kinds finds custom resources like kubectl: kinds by discovery, with short names and plurals, in the
// cluster and namespace of the kubeconfig and the flags. Kinds that are not installed are omitted, so the
// plugin works with any set of operators. [New] is the entry point.
package kinds
