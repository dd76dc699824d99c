package service

import "os"

// Main runs the service, or one of its commands, and exits the process.
func Main(spec Spec) {
	os.Exit(1)
}
