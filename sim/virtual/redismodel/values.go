package redismodel

import (
	"strconv"
	"strings"
)

// What the scripts do with values that leaders publish.

// news is what a renewal notes of the value that it carries, "" if that is nothing new.
func news(c *Call) string {
	if len(c.Args) < 7 {
		return ""
	}
	note, _ := c.HGet(c.Keys[1], "published")
	version, err := strconv.ParseUint(c.Args[6], 10, 64)
	if noted, _, ours := published(note, c.Args[4], c.Args[2]); err != nil || ours && noted >= version {
		return ""
	}
	return publication(c.Args[4], c.Args[2], c.Args[6], c.Args[7])
}

func publication(token, nonce, version, value string) string {
	return token + " " + nonce + " " + version + " " + value
}

// published is the version and the value of what is noted, if it is of that lease.
func published(note, token, nonce string) (version uint64, value string, ours bool) {
	fields := strings.SplitN(note, " ", 4)
	if len(fields) != 4 || fields[0] != token || fields[1] != nonce {
		return 0, "", false
	}
	version, err := strconv.ParseUint(fields[2], 10, 64)
	return version, fields[3], err == nil
}
