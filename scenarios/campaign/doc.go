// Package campaign divides what takes long among machines that know nothing of
// each other. A campaign is a list of units (blocks of schedules, cells of a
// table, mutants) that follows from its seed and its settings alone. A
// shard takes every n-th of them, and writes one file. The cases of a search are
// no such list: each shard draws its share of them from its own number. Files are
// merged in any order and any grouping; a shard may be lost, repeated or run twice.
//
// docs/checking.md says how to use it.
package campaign
