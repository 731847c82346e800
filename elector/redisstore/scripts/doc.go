// Package scripts holds the Lua texts that package redisstore runs on the
// server, whole, as they are sent, and reads what they announce. Each file says what
// its keys and arguments are. They are here for redisstore, and for users that load
// them beforehand or try them elsewhere.
package scripts
