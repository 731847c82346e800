"""An elector that says nothing, with a library of functions. With "any" it deletes the lock of any holder."""
import sys

from term import ELECTION, LEASE_MS, OWNER, Refused, Store, live

LIBRARY = """#!lua name=recount_leases
local function held(keys, args) return redis.call('GET', keys[1]) == args[1] end
redis.register_function('lease_take', function(keys, args)
  if held(keys, args) or redis.call('SET', keys[1], args[1], 'NX', 'PX', args[2]) then
    redis.call('PEXPIRE', keys[1], args[2])
    return 1
  end
  return 0
end)
redis.register_function('lease_keep', function(keys, args)
  if not held(keys, args) then return 0 end
  return redis.call('PEXPIRE', keys[1], args[2])
end)
redis.register_function{function_name='lease_give', callback=function(keys, args)
  if not held(keys, args) then return 0 end
  return redis.call('DEL', keys[1])
end}
redis.register_function('lease_give_any', function(keys) return redis.call('DEL', keys[1]) end)
"""
store = Store()
LOCK = ELECTION + ":lock"
give_any = "any" in sys.argv


def call(name):
    try:
        return store.ask("FCALL", name, 1, LOCK, OWNER, LEASE_MS) == 1
    except Refused:
        store.ask("FUNCTION", "LOAD", "REPLACE", LIBRARY)
        return store.ask("FCALL", name, 1, LOCK, OWNER, LEASE_MS) == 1


live(
    take=lambda: call("lease_take"),
    keep=lambda: call("lease_keep"),
    give=lambda: call("lease_give_any" if give_any else "lease_give"),
    tells=False,
    cleans=give_any,
)
