// Package engine runs the engine stub (libs/testkit/stubengine/server) with the command line and the config.yaml of a
// Firebolt engine. The stub is ready once the metadata service is. README.md of this module lists the differences.
package engine
