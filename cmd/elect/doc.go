// Command elect runs a command on one machine of many: on the one that is
// elected, for as long as it leads. It also serves an elector over HTTP to
// programs in any language, and tells who leads.
package main
