// Package clients has adapters with which a program elects over the Redis client that it
// has, to be copied. Each is a file of its own:
//
//	store, err := anyclient.New(clients.Rueidis{Client: client}, 0, redisstore.Options{})
package clients
