// Command kubectl-flotilla is a kubectl plugin: "kubectl flotilla" shows the state of Flotilla's resources and its
// causes, waits for conditions, pauses and stops resources, approves upgrades, and opens the status page.
package main
