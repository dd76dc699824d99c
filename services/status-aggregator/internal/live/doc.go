// Package live is what every replica answers questions from, leader or not.
//
//	custom resources ──► objects ─┐
//	FLOTILLA_STATUS  ──► entries ─┴─► View: lists, one object in full
//	FLOTILLA_OBS, FLOTILLA_LIFECYCLE ─► asked when one object is looked at
//	FLOTILLA_LIFECYCLE ──► Hub ──► subscriptions, each with a bounded queue
//
// Which objects there are, and their conditions, is what the API server says. The bus adds
// whose word that is, evidence and history; while it is away those are missing, and the
// answer says so.
//
// A subscription never slows the [Hub] down: one whose queue is full is ended, and so are
// all of them when the connection to the bus breaks. Whoever read it resumes behind the
// last event that came through. Nothing here polls.
//
// Source: architecture D2 and D11; reference 2.4 and 3.6.
package live
