-- prove tells whether this very session holds the election's lock.
--
-- $1 election
select {locked_here}
