// Package registry describes the kinds that the ingester stores.
//
// A kind is described in one place: its .proto file. The message gives the wire
// layout and the CRD's schema; the options on it give the table, the indexed
// columns and whether the kind is immutable. go generate compiles the files into
// a descriptor set, which is embedded here and read by [Load]. Everything else
// follows: the columns of a row ([Kind.Columns]), the DDL (package schema), the CRDs
// (package crd), the encoder (package wire).
//
// To add a kind: write its .proto file, add its name to api.Kinds, and run
// go generate in this module. To add an indexed field: add one index option
// and run go generate; a migration file for the new column appears.
//
// [Load] rejects a set in which api.Kinds and the messages disagree, so a kind can
// neither be forgotten nor half registered.
//
// Source: specification 003 "Schema Layout" and "Indexed Fields".
package registry

//go:generate go run ./compile -proto ../../proto -out descriptors.binpb
//go:generate go run ../generate -root ../..
