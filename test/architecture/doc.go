// Package architecture checks rules that the compiler does not: the imports between
// modules, the packages that must not do I/O, and the size of files.
//
// Its tests read the source files of the whole repository and require only the
// checkout. The rules are data at the top of rules.go.
package architecture
