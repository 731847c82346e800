// Command bench measures the elector beside other Go libraries that can elect
// a leader with Redis, all in one run on one private redis-server, and prints
// tables in Markdown: ratios and counts, since a figure in milliseconds says
// more about the machine than about the elector. Those go to standard error.
//
// It is a module of its own, so that nobody who imports the elector gets the
// libraries that it is compared with.
package main
