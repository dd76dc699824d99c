// Package architecture checks what no compiler checks: which module may import
// which, which packages must stay free of I/O, and how large files may grow.
//
// Its tests read the source files of the whole repository; they need nothing
// but the checkout. The rules are data at the top of rules.go.
package architecture
