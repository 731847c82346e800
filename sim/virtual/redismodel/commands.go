package redismodel

import (
	"fmt"
	"strings"
)

// command is what the server must know of a command before it executes it.
type command struct {
	name   name
	family family
	arity  int8 // number of arguments with the name; negative: at least so many
	writes bool
	grows  bool // it may need more memory, and is refused if there is none
}

type family uint8

const (
	ofStrings family = iota
	ofKeys
	ofHashes
	ofLists
	ofServer
)

type name uint8

const (
	cmdSet name = iota
	cmdSetNX
	cmdSetEX
	cmdPSetEX
	cmdGet
	cmdMGet
	cmdGetSet
	cmdGetDel
	cmdGetRange
	cmdMSet
	cmdMSetNX
	cmdIncr
	cmdIncrBy
	cmdDecr
	cmdDecrBy
	cmdDel
	cmdExists
	cmdType
	cmdExpire
	cmdPExpire
	cmdExpireAt
	cmdPExpireAt
	cmdPersist
	cmdTTL
	cmdPTTL
	cmdExpireTime
	cmdPExpireTime
	cmdKeys
	cmdHSet
	cmdHGet
	cmdHMGet
	cmdHDel
	cmdHExists
	cmdHIncrBy
	cmdHLen
	cmdHGetAll
	cmdRPush
	cmdLPush
	cmdLRange
	cmdLLen
	cmdLTrim
	cmdPublish
	cmdPubSub
	cmdScript
	cmdEval
	cmdEvalSHA
	cmdTime
	cmdPing
	cmdDBSize
	cmdFlushAll
	cmdWait
	cmdInfo
)

// commands are all commands by name.
var commands = map[string]command{
	"SET":      {cmdSet, ofStrings, -3, true, true},
	"SETNX":    {cmdSetNX, ofStrings, 3, true, true},
	"SETEX":    {cmdSetEX, ofStrings, 4, true, true},
	"PSETEX":   {cmdPSetEX, ofStrings, 4, true, true},
	"GET":      {cmdGet, ofStrings, 2, false, false},
	"MGET":     {cmdMGet, ofStrings, -2, false, false},
	"GETSET":   {cmdGetSet, ofStrings, 3, true, true},
	"GETDEL":   {cmdGetDel, ofStrings, 2, true, false},
	"GETRANGE": {cmdGetRange, ofStrings, 4, false, false},
	"MSET":     {cmdMSet, ofStrings, -3, true, true},
	"MSETNX":   {cmdMSetNX, ofStrings, -3, true, true},
	"INCR":     {cmdIncr, ofStrings, 2, true, true},
	"INCRBY":   {cmdIncrBy, ofStrings, 3, true, true},
	"DECR":     {cmdDecr, ofStrings, 2, true, true},
	"DECRBY":   {cmdDecrBy, ofStrings, 3, true, true},

	"DEL":         {cmdDel, ofKeys, -2, true, false},
	"UNLINK":      {cmdDel, ofKeys, -2, true, false},
	"EXISTS":      {cmdExists, ofKeys, -2, false, false},
	"TYPE":        {cmdType, ofKeys, 2, false, false},
	"EXPIRE":      {cmdExpire, ofKeys, -3, true, false},
	"PEXPIRE":     {cmdPExpire, ofKeys, -3, true, false},
	"EXPIREAT":    {cmdExpireAt, ofKeys, -3, true, false},
	"PEXPIREAT":   {cmdPExpireAt, ofKeys, -3, true, false},
	"PERSIST":     {cmdPersist, ofKeys, 2, true, false},
	"TTL":         {cmdTTL, ofKeys, 2, false, false},
	"PTTL":        {cmdPTTL, ofKeys, 2, false, false},
	"EXPIRETIME":  {cmdExpireTime, ofKeys, 2, false, false},
	"PEXPIRETIME": {cmdPExpireTime, ofKeys, 2, false, false},
	"KEYS":        {cmdKeys, ofKeys, 2, false, false},

	"HSET":    {cmdHSet, ofHashes, -4, true, true},
	"HGET":    {cmdHGet, ofHashes, 3, false, false},
	"HMGET":   {cmdHMGet, ofHashes, -3, false, false},
	"HDEL":    {cmdHDel, ofHashes, -3, true, false},
	"HEXISTS": {cmdHExists, ofHashes, 3, false, false},
	"HINCRBY": {cmdHIncrBy, ofHashes, 4, true, true},
	"HLEN":    {cmdHLen, ofHashes, 2, false, false},
	"HGETALL": {cmdHGetAll, ofHashes, 2, false, false},

	"RPUSH":  {cmdRPush, ofLists, -3, true, true},
	"LPUSH":  {cmdLPush, ofLists, -3, true, true},
	"LRANGE": {cmdLRange, ofLists, 4, false, false},
	"LLEN":   {cmdLLen, ofLists, 2, false, false},
	"LTRIM":  {cmdLTrim, ofLists, 4, true, false},

	"PUBLISH":  {cmdPublish, ofServer, 3, false, false},
	"PUBSUB":   {cmdPubSub, ofServer, -2, false, false},
	"SCRIPT":   {cmdScript, ofServer, -2, false, false},
	"EVAL":     {cmdEval, ofServer, -3, false, false},
	"EVALSHA":  {cmdEvalSHA, ofServer, -3, false, false},
	"TIME":     {cmdTime, ofServer, 1, false, false},
	"PING":     {cmdPing, ofServer, -1, false, false},
	"DBSIZE":   {cmdDBSize, ofServer, 1, false, false},
	"FLUSHALL": {cmdFlushAll, ofServer, -1, true, false},
	"WAIT":     {cmdWait, ofServer, 3, false, false},
	"INFO":     {cmdInfo, ofServer, -1, false, false},
}

// Misspelt is the error that a command of that name in upper case gets whatever the
// server holds: there is none, or it has another number of arguments. Else it is no
// error.
func Misspelt(name string, args []string) Reply {
	switch c, known := commands[name]; {
	case !known:
		return unknown(args)
	case !c.takes(len(args)):
		return wrongNumber(name)
	default:
		return Reply{}
	}
}

// takes reports whether the command may have so many arguments, with its name.
func (c command) takes(n int) bool {
	if c.arity < 0 {
		return n >= -int(c.arity)
	}
	return n == int(c.arity)
}

// unknown is the reply to a command that the model does not have.
func unknown(args []string) Reply {
	var b strings.Builder
	fmt.Fprintf(&b, "ERR unknown command '%.128s', with args beginning with: ", args[0])
	for _, arg := range args[1:] {
		if b.Len() >= 128 {
			break
		}
		fmt.Fprintf(&b, "'%.128s' ", arg)
	}
	return Fail(b.String())
}

func wrongNumber(command string) Reply {
	return Fail("ERR wrong number of arguments for '" + strings.ToLower(command) + "' command")
}

func badExpiry(command string) Reply {
	return Fail("ERR invalid expire time in '" + strings.ToLower(command) + "' command")
}
