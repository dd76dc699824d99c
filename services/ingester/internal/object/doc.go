// Package object is how the ingester holds objects of the cluster: as the JSON that
// the API server sent, with the few fields read that decide what is done with them.
//
// Most of an object's life in the ingester is waiting, in the informer's store and in
// queues. Bytes are cheap there: they are never copied, the garbage collector does not
// look inside, and they are what MySQL keeps in the json column. The rest is read when
// a record is made of the object (package record), once.
//
// [Client] talks to the API server about one kind: lists and watches for an informer,
// and the few writes that the ingester makes. It decodes answers from the stream,
// object by object, so a list of any size needs no more memory than its objects.
package object
