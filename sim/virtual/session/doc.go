// Package session is what a Redis server keeps of one connection, and of those who
// listen: the database, transactions, subscriptions. The data are those of package
// redismodel; who reads and writes the bytes is somebody else's business.
package session
