// Package observe reads the objects of one Superset from the cache into a
// snapshot. It makes no request and decides nothing.
package observe
