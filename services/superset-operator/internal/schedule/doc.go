// Package schedule computes the scheduled times of a cron expression around a given time.
//
// Expressions have the five standard fields and are read in UTC.
package schedule
