// Package optional watches kinds whose CRDs a cluster may lack, such as those of
// Gateway API and of the Prometheus operator.
//
// A [Kind] is a source of a controller. While the API server serves the kind, it caches the operator's objects and
// enqueues their owners; when the CRD is added or removed, it enqueues every owner that uses the kind. No restart is
// needed, and a cluster that lacks the kind is not polled:
//
//   - one watch, of the metadata of that one CRD, triggers a check; discovery returns
//     whether the API server serves the kind in the version that we use;
//   - the Kind has its own cache, so that it ends with the CRD. An informer in the manager's cache would retry
//     forever, and a read after the removal of the CRD would start one;
//   - an operator without permission to watch CRDs, such as one that is confined to
//     some namespaces, checks after each failed attempt to watch, at growing intervals
//     up to about a minute.
package optional
