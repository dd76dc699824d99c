// Package schedule finds the times of a cron expression around a given one.
//
// Expressions have the five standard fields and are read in UTC.
package schedule
