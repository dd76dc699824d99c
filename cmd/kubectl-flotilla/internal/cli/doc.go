// Package cli implements the commands of kubectl flotilla: flags, arguments, and the order of calls. Packages wait, intent
// and approval make the decisions; package printer formats the output. [New] is the entry point.
package cli
