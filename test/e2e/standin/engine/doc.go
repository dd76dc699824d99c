// Package engine gives the stand-in engine (libs/testkit/stubengine/server) the command line and the config.yaml of a
// Firebolt engine, and makes it wait for the metadata service. README.md of this module lists what is not imitated.
package engine
