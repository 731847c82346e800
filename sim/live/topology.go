package live

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/redisserver"
)

// universal are the options of a client that finds its way to the store.
func universal(server redisserver.Server) *redis.UniversalOptions {
	if arranged, is := server.(redisserver.Arranged); is {
		return arranged.Universal()
	}
	o := server.Options()
	return &redis.UniversalOptions{
		Addrs: []string{o.Addr}, ClientName: o.ClientName, DB: o.DB, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		MaxRetries: o.MaxRetries, DialerRetries: o.DialerRetries, ContextTimeoutEnabled: o.ContextTimeoutEnabled,
		DisableIdentity: o.DisableIdentity, MaintNotificationsConfig: o.MaintNotificationsConfig,
	}
}

// nodesOf are the addresses of the servers that a candidate may have to reach.
func nodesOf(servers []redisserver.Server) []string {
	if arranged, is := servers[0].(redisserver.Arranged); is {
		return arranged.Nodes()
	}
	var list []string
	for _, server := range servers {
		list = append(list, server.Addr())
	}
	return list
}

// describe is what a history says of the servers.
func describe(servers []redisserver.Server) string {
	if n := len(servers); n > 1 {
		return fmt.Sprintf("%d independent of %s", n, servers[0].Describe())
	}
	return servers[0].Describe()
}

// eachOf are the options of clients for each of the servers that a candidate may
// have to reach.
func eachOf(servers []redisserver.Server) []*redis.Options {
	arranged, is := servers[0].(redisserver.Arranged)
	var all []*redis.Options
	if !is {
		for _, server := range servers {
			all = append(all, server.Options())
		}
		return all
	}
	for _, addr := range arranged.Nodes() {
		o := arranged.Options()
		o.Addr = addr
		all = append(all, o)
	}
	return all
}

// steadyOf are the options of a client for a server that no fault hits where
// there are several: it reports whether the machine holds servers up.
func steadyOf(servers []redisserver.Server) *redis.Options {
	server := servers[len(servers)-1]
	o := server.Options()
	if arranged, is := server.(redisserver.Arranged); is {
		nodes := arranged.Nodes()
		o.Addr, o.Password = nodes[len(nodes)-1], "" // PING takes no password there
	}
	return o
}
