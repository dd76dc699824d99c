// Package asyncapi checks messages against an AsyncAPI document and its JSON Schemas, such as docs/events.
//
//	doc, err := asyncapi.Load(os.DirFS("../../../../docs/events"))
//	...
//	err = doc.Check(msg.Subject, msg.Header, msg.Data)
package asyncapi
