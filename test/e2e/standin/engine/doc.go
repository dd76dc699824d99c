// Package engine imitates a Firebolt engine as far as the engine operator and the gateway see one: its command line and
// config.yaml, the ports of queries, health and metrics, the gauges of the drain check, and how it ends. Queries take
// the time that they ask for and compute nothing. README.md of this module says what is not imitated.
package engine
