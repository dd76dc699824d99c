// Package object represents objects of the cluster as the JSON that the API server sent, with
// the few fields parsed that the ingester decides by.
//
// Objects wait in the informer's store and in queues most of the time. Bytes are cheap there:
// they are never copied, the garbage collector does not scan them, and MySQL stores them in the
// json column. The rest is parsed once, when a record is built from the object (package record).
//
// [Client] is a client of the API server for one kind: list and watch for an informer, and the
// few writes of the ingester. It decodes responses from the stream, object by object, so a list
// of any size requires no more memory than its objects.
package object
