-- history lists the last terms, the latest first.
--
-- $1 election  $2 how many
select t.id, t.token, t.began, t.ended from {term} t where t.election = $1::text order by t.token desc limit $2::bigint
