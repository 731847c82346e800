-- place tells whether the server can be named here: the role may ask for what names
-- it, and it is no standby.
select case when pg_is_in_recovery() then null else {server} end is not null
