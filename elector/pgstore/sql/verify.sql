-- verify tells what is missing before anything can work: of each table whether
-- it is there and which rights on it are missing, and the lease's version.
--
-- $1 names of the tables  $2 rights on them, separated by spaces
select t.name, to_regclass(t.name) is not null,
  coalesce(array(
    select r from unnest(string_to_array(t.rights, ' ')) r
    where to_regclass(t.name) is not null and not has_table_privilege(to_regclass(t.name), r)), '{}'),
  coalesce(obj_description(to_regclass(t.name), 'pg_class'), ''),
  coalesce((select relpersistence::text from pg_class where oid = to_regclass(t.name)), ''),
  current_setting('server_version_num')::bigint,
  current_user::text,
  exists (select from pg_attribute where attrelid = to_regclass(t.name) and attname = 'value_version')
from unnest($1::text[], $2::text[]) with ordinality as t(name, rights, position) order by position
