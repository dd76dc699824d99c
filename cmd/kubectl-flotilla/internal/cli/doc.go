// Package cli holds the commands of kubectl flotilla: flags, arguments, and the order in which the other packages are
// asked. What a command decides stands in await, intent and approval; what it prints, in show. [New] is the entry point.
package cli
