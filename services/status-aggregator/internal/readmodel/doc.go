// Package readmodel serves reads on every replica, leader or not.
//
//	custom resources ──► objects ─┐
//	FLOTILLA_STATUS  ──► entries ─┴─► View: lists, one object in full
//	FLOTILLA_OBS, FLOTILLA_LIFECYCLE ─► read for the details of one object
//	FLOTILLA_LIFECYCLE ──► Hub ──► subscriptions, each with a bounded queue
//
// Objects and their conditions come from the API server. The bus adds provenance, evidence
// and history; while it is unavailable these are missing, and the response reports it.
//
// A subscription never blocks the [Hub]: a subscription with a full queue is ended, and all are
// ended when the connection to the bus is lost. The reader resumes after the last event that
// it received. Nothing polls.
//
// Source: architecture D2 and D11; reference 2.4 and 3.6.
package readmodel
