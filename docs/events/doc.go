// Package events is the contract of the bus as a document that can be asked: whether a
// message is what asyncapi.yaml and the schemas beside it say.
//
//	doc, err := events.Load()
//	...
//	err = doc.Check(msg.Subject, msg.Header, msg.Data)
//
// Its tests hold the pages of this folder to their word: the document is valid AsyncAPI,
// what is published matches it, the recipes of README.md work, and the permissions of
// deploy/nats grant what each identity needs and nothing else.
package events
