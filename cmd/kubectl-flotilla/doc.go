// Command kubectl-flotilla is a plugin of kubectl: "kubectl flotilla" shows how Flotilla's resources are and why, waits
// for them, pauses and stops them, approves upgrades, and opens the status page.
package main
